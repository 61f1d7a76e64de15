"""What a report says of an answer: who is named, how sure it sounds, what stands as evidence."""

import json
import re
from dataclasses import replace

import pytest

from buildbot_bench.cli.outcomes import outcome_of
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.json_model import to_json
from buildbot_bench.core.report.checks import IMAGES_AGREE
from buildbot_bench.core.report.compose import compose
from buildbot_bench.core.report.evidence_model import Outcome
from buildbot_bench.core.report.model import AppliedFix, Report, ReportKind
from buildbot_bench.core.report.steps import kind_of
from buildbot_bench.core.report.words import standing, sureness
from buildbot_bench.core.revision import ABBREVIATION_LENGTH
from buildbot_bench.core.sample import PACKETS_PER_CPU_SECOND, Iteration, Metric, Sample
from buildbot_bench.core.search import Answer, Slope, SlopePart
from tests.fakes import reports
from tests.fakes.reports import SETTING, answer, history, samples, step

LEVELS = {0: (1000.0, 1004, 996), 1: (750.0, 752, 748), 2: (900.0, 903, 897)}


def composed(found: Answer, *, n: int = 2, values=LEVELS, setting=SETTING, **known) -> Report:
    return compose(
        range=history(n), answer=found, samples=samples(values), setting=setting, **known
    )


def test_largest_sure_regression_is_the_headline():
    found = answer(step(0, 1, -0.05), step(1, 2, -0.25), step(2, 3, 0.5), step(3, 4, -0.4, 0.9))
    report = composed(found, n=4)
    assert report.kind is ReportKind.CULPRIT
    assert report.headline.new.label == "r311850"
    assert [other.new.label for other in report.other_steps] == ["r311849", "r311851", "r311852"]
    assert report.mailable


def test_subject_names_commit_change_testbed_and_certainty():
    subject = composed(answer(step(0, 1, -0.25588, 0.9962))).subject
    assert subject == "[bench] r311849 (a1b2c3d4e6): forwarding -25.6 % on apu2 [99 % sure]"


def test_a_rise_is_the_regression_of_a_metric_where_lower_is_better():
    latency = Metric(name="latency", unit="us", higher_is_better=False)
    found = answer(step(0, 1, -0.3), step(1, 2, 0.1))
    report = composed(found, setting=replace(SETTING, metric=latency))
    assert report.headline.new.label == "r311850"
    assert "raised the latency of forwarding on apu2 by 10.0 %" in report.summary[0]
    assert "Lower is better." in report.summary[0]


def test_a_sure_improvement_alone_is_answered_but_not_mailed():
    report = composed(answer(step(1, 2, 0.2)))
    assert report.kind is ReportKind.CULPRIT
    assert not report.headline.regression
    assert not report.mailable


def test_a_race_says_how_many_boots_are_slower_and_by_how_much_and_is_no_mean_to_test():
    report = reports.race()
    assert (
        "It is a race: 33 % of the boots are 12.0 % slower since then, 0 % before."
        in (report.summary[0])
    )
    assert report.headline.proved
    (other,) = report.other_steps
    assert standing(other) == "99 % sure, 12.0 % in 33 % of the boots"
    agree = next(check for check in report.checks if check.name == IMAGES_AGREE)
    assert (agree.outcome, agree.detail) == (
        Outcome.NOT_MADE,
        "Only some boots of each image show the change.",
    )
    assert to_json(report)["headline"]["race"] == {"before": 0.004, "after": 0.33, "depth": -0.12}
    assert composed(answer(step(0, 1, -0.25))).headline.race is None


@pytest.mark.parametrize(
    ("probability", "sure"), [(0.99, True), (1 - 0.01, True), (0.9899, False), (1.0, True)]
)
def test_a_step_is_named_when_its_probability_reaches_what_was_asked(probability, sure):
    report = composed(answer(step(0, 1, -0.25, probability)))
    assert report.kind is (ReportKind.CULPRIT if sure else ReportKind.INCONCLUSIVE)
    assert report.mailable is sure


@pytest.mark.parametrize(
    ("probability", "told"),
    [
        (1.0, "99 %"),
        (0.99999, "99 %"),
        (0.989999, "98 %"),
        (0.29, "29 %"),
        (0.004, "less than 1 %"),
    ],
)
def test_certainty_is_rounded_down_and_never_whole(probability, told):
    assert sureness(probability) == told


def test_ends_that_do_not_differ_are_not_reproduced_and_shown():
    report = reports.not_reproduced()
    assert report.kind is ReportKind.NOT_REPRODUCED
    assert report.headline is None
    assert "do not differ" in report.summary[0]
    assert not report.ends.comparison.significant
    assert not report.mailable


def test_an_answer_without_a_sure_step_is_inconclusive():
    report = reports.inconclusive()
    assert report.kind is ReportKind.INCONCLUSIVE
    assert [part.commits for part in report.unresolved] == [8]
    assert not report.mailable


def test_ends_that_cannot_be_tested_prove_nothing():
    found = answer(reproduced=False, unresolved=((0, 2),), reason="no revision can be tested")
    report = composed(found, values={})
    assert report.kind is kind_of(found, error=0.01) is ReportKind.INCONCLUSIVE
    assert report.summary[1] == "No revision can be tested."
    assert report.ends.comparison is None


def test_a_culprit_is_named_though_another_part_is_left_open():
    found = answer(step(0, 1, -0.25), unresolved=((1, 2),))
    assert kind_of(found, error=0.01) is ReportKind.CULPRIT


def test_suspects_are_all_commits_of_a_step_but_the_no_op_changes():
    report = reports.broken_range()
    suspects = [suspect.label for suspect in report.headline.suspects]
    assert suspects == ["r311850", "r311851", "r311853", "r311854"]
    assert report.subject.startswith("[bench] r311850 to r311854 (one of 4): forwarding")


def test_neighbours_skipped_for_one_reason_are_told_together():
    skipped = reports.broken_range().skipped
    told = [(part.first.label, part.last.label, part.commits) for part in skipped]
    assert told == [("r311850", "r311851", 2), ("r311852", "r311852", 1), ("r311853", "r311853", 1)]


def test_revisions_that_were_not_tried_are_told_from_those_that_failed():
    found = replace(step(0, 9, -0.25), believed=((3, 4),), untried=((7, 7),))
    values = {0: (1000.0, 1004, 996), 9: (750.0, 752, 748)}
    failed = dict.fromkeys((1, 2, 5, 6, 8), "does not build")
    report = composed(answer(found), n=9, values=values, untestable=failed)

    assert report.summary[0].endswith(
        "Those between them that were tried cannot be tested; 2 revisions not tried, but believed "
        "untestable (99 % sure); 1 revision not tried, and may be testable."
    )
    assert (report.headline.believed, report.headline.untried) == (2, 1)
    assert [(one.first.label, one.commits, one.reason.split(":")[0]) for one in report.skipped] == [
        ("r311849", 2, "does not build"),
        ("r311851", 2, "believed untestable"),
        ("r311853", 2, "does not build"),
        ("r311855", 1, "untried"),
        ("r311856", 1, "does not build"),
    ]


def test_both_sides_of_the_culprit_stand_in_ministats_block():
    block = reports.iflib().headline.contrast.ministat
    assert block.startswith("x r311848\n+ r311849\n+---")
    assert "\t-159839 +/- 3248.95\n\t-25.59% +/- 0.429453%\n" in block


def test_a_side_with_too_few_values_borrows_from_its_own_level_only():
    values = LEVELS | {1: (999.0,), 2: (751.0,), 3: (749.0, 750), 4: (600.0,) * 3}
    report = composed(answer(step(1, 2, -0.25), step(3, 4, -0.2)), n=4, values=values)
    held = report.headline.contrast
    assert held.old.label == "r311848 to r311849 (2 revisions measured)"
    assert held.old.values == (999.0, 1000, 1004, 996)
    assert held.new.values == (751.0, 749, 750)


def test_boots_of_a_no_op_change_are_boots_of_the_kernel_it_has():
    values = LEVELS | {1: (751.0,), 2: (749.0, 750)}
    report = composed(answer(step(0, 1, -0.25)), n=2, values=values, no_ops={2})
    held = report.headline.contrast
    assert (held.new.label, held.new.values) == ("r311849", (751.0, 749, 750))
    ends = composed(answer(reproduced=False), n=2, values=values, no_ops={2}).ends
    assert (ends.new.label, ends.new.values) == ("r311850", held.new.values)


def test_nothing_is_borrowed_across_a_part_where_a_step_may_lie():
    values = {0: (1000.0,) * 3, 4: (990.0,), 5: (750.0,) * 3}
    report = composed(answer(step(4, 5, -0.25), unresolved=((0, 4),)), n=5, values=values)
    held = report.headline.contrast
    assert (held.comparison, held.ministat) == (None, "")
    assert held.notes == ("r311852 has 1 value. Student's t needs 3.",)


def test_values_of_all_images_count_and_those_of_other_metrics_do_not():
    found = samples(LEVELS)
    second = replace(found[1], image=1, iterations=(Iteration(value=749.0),))
    other = Sample(
        label="r311849",
        position=1,
        metric=PACKETS_PER_CPU_SECOND,
        iterations=(Iteration(value=9e9),),
    )
    failed = replace(found[0], image=2, iterations=(Iteration(value=None, failure="no link"),))
    report = compose(
        range=history(2),
        answer=answer(step(0, 1, -0.25)),
        samples=[second, other, failed, *found],
        setting=SETTING,
    )
    assert report.headline.contrast.new.values == (750.0, 752, 748, 749)
    assert report.headline.contrast.old.values == LEVELS[0]


def test_the_commands_to_repeat_name_range_testbed_and_workload():
    report = composed(answer(step(1, 2, -0.25)), setting=replace(SETTING, testbed="a b"))
    assert report.reproduce == (
        "bench-bisect r311849 r311850 --testbed 'a b' --workload forwarding",
        "bench-bisect r311848 r311850 --testbed 'a b' --workload forwarding",
        "bench-bisect --follow 7 --json",
    )


@pytest.mark.parametrize(
    ("left_out", "told"),
    [
        ((), "The search applied c255761 to 3 revisions. The others contain it."),
        (("r1", "r2"), "It does not apply to r1, r2: these were built without it."),
        (tuple(f"r{n}" for n in range(10)), "r7 and 2 more: these were built without it."),
    ],
)
def test_a_fix_that_was_applied_is_told_and_repeated(left_out, told):
    fix = AppliedFix(fix="c255761", applied=3, left_out=left_out)
    report = composed(answer(step(1, 2, -0.25)), setting=replace(SETTING, carried=fix))
    assert report.summary[1].endswith(told)
    assert all("--with c255761" in command for command in report.reproduce[:-1])


def test_two_builds_of_a_revision_have_a_fix_once():
    fix = AppliedFix.of_builds(40 * "c", applied=["a", "b", "a"], left_out=["r3", "r2", "r3"])
    assert (fix.fix, fix.applied, fix.left_out) == (ABBREVIATION_LENGTH * "c", 2, ("r3", "r2"))


def test_commands_of_the_caller_replace_them():
    assert composed(answer(), reproduce=["make it so"]).reproduce == ("make it so",)


def test_a_confidence_without_a_table_is_a_usage_error():
    with pytest.raises(UsageError, match="97"):
        composed(answer(step(0, 1, -0.25)), setting=replace(SETTING, confidence=97.0))


@pytest.mark.parametrize(
    "made",
    [
        reports.iflib,
        reports.broken_range,
        reports.hostile,
        reports.not_reproduced,
        reports.inconclusive,
    ],
)
def test_json_is_plain_and_comes_back_as_it_went(made):
    value = to_json(made())
    assert json.loads(json.dumps(value, allow_nan=False)) == value


def test_json_holds_what_the_mail_says(golden):
    text = json.dumps(to_json(reports.broken_range()), indent=1) + "\n"
    # The last digits of a p value are those of a release of scipy.
    golden("report.json", re.sub(r"(\d\.\d{11})\d+(e-\d+)", r"\1\2", text))


def test_json_has_null_for_a_figure_that_is_undefined():
    report = composed(answer(step(0, 1, -0.25)), values={0: (0.0,) * 3, 1: (1.0,) * 3})
    comparison = to_json(report)["headline"]["contrast"]["comparison"]
    assert comparison["difference"] == 1.0
    assert comparison["difference_percent"] is None


def test_a_report_holds_no_text_that_is_not_plain():
    def texts(value):
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from (text for inner in value.values() for text in texts(inner))
        elif isinstance(value, list):
            yield from (text for inner in value for text in texts(inner))

    for text in texts(to_json(reports.hostile())):
        unfolded = text.replace("\n", "").replace("\t", "")  # ministat's own block has these
        assert unfolded.isprintable(), text[:80]


def test_levels_are_told_in_the_metrics_unit():
    told = composed(answer(step(0, 1, -0.25))).summary[0]
    assert "25.0 % slower (1,000 → 750 packets per second)" in told


def test_a_slope_is_mailed_as_that_and_names_nobody():
    report = reports.slope()
    assert report.kind is ReportKind.SLOPE
    assert report.mailable
    assert report.headline is None
    assert report.subject == (
        "[bench] r311848 to r311856: forwarding -6.1 % on apu2, little by little [slope]"
    )
    assert "No single commit changed it by 2 % or more." in report.summary[0]


def test_a_slope_that_made_it_faster_is_not_mailed():
    whole = SlopePart(old=0, new=2, effect=0.06, low=0.05, high=0.07)
    report = composed(answer(slopes=(Slope(whole=whole, parts=(whole,)),)))
    assert report.kind is ReportKind.SLOPE
    assert not report.mailable


def test_a_step_that_is_not_separated_from_layout_is_suspected_not_found():
    report = composed(answer(replace(step(0, 1, -0.04), separated=False)))
    assert report.kind is ReportKind.INCONCLUSIVE
    assert report.headline is None


def test_a_step_beside_the_headline_that_student_cannot_tell_is_suspected():
    two = LEVELS | {2: (900.0, 903)}
    found = answer(step(0, 1, -0.25), step(1, 2, 0.2, 0.998))
    (other,) = composed(found, values=two).other_steps
    assert standing(other) == "suspected, 99 % likely, not proved by boots of both sides"
    (other,) = composed(found).other_steps
    assert standing(other) == "99 % sure"


def test_a_step_that_the_search_had_no_boots_left_to_prove_is_no_culprit():
    report = composed(answer(replace(step(0, 1, -0.25), proved=False)))
    assert report.kind is ReportKind.INCONCLUSIVE
    assert report.headline is None


@pytest.mark.parametrize("probability", [0.99, 0.99915, 0.9999999, 1.0])
def test_one_number_says_everywhere_how_sure_the_culprit_is(probability):
    report = composed(answer(step(0, 1, -0.25, probability)))
    said = to_json(report)["headline"]["probability"]
    assert said == 0.99
    assert report.subject.endswith(f"[{100 * said:.0f} % sure]")
    assert f"is {100 * said:.0f} % sure" in report.summary[1]
    assert outcome_of(report, "").outputs["probability"] == f"{said}"
    assert sureness(probability) == sureness(said) == f"{100 * said:.0f} %"


def test_less_than_one_percent_is_not_called_none():
    assert sureness(0.004) == "less than 1 %"
