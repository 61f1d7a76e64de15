"""What stands behind a finding: checks, scope, setup, artefacts, cost and the replay_stages."""

from dataclasses import replace

import pytest

from buildbot_bench.core.incident.confirmation import Standing
from buildbot_bench.core.report.both_sides import cost
from buildbot_bench.core.report.compose import compose
from buildbot_bench.core.report.context import (
    MOST_STAGES,
    Context,
    ControlRecord,
    SeriesSamples,
    replay_stages,
    runners_up,
)
from buildbot_bench.core.report.model import ProbeRecord, Report
from buildbot_bench.core.report.words import opening
from buildbot_bench.core.report.words import reach as reach_in_words
from buildbot_bench.core.sample import Iteration
from buildbot_bench.core.search import Answer, Evidence, Measurement, SearchPolicy, Suspect
from tests.fakes import reports
from tests.fakes.reports import SETTING, answer, history, images, revision, samples, series, step

FIVE = (1000.0, 1004, 996, 1001, 999)
LESS = (750.0, 752, 748, 751, 749)
DROP = {0: FIVE, 1: LESS}


def composed(*, n: int = 2, values=DROP, found: Answer | None = None, more=(), **known) -> Report:
    return compose(
        range=history(n),
        answer=found or answer(step(0, 1, -0.25)),
        samples=[*samples(values), *more],
        setting=SETTING,
        known=Context(**known),
    )


def outcome(report: Report, name: str) -> str:
    (check,) = (check for check in report.checks if check.name == name)
    return check.outcome.value


def detail(report: Report, name: str) -> str:
    (check,) = (check for check in report.checks if check.name == name)
    return check.detail


def test_a_finding_of_which_all_is_proven_has_no_disclaimer():
    report = reports.proven()
    assert {check.outcome.value for check in report.checks} == {"passed"}
    assert report.disclaimer == ""


def test_what_is_not_proven_is_named_before_anything_else():
    assert reports.broken_range().disclaimer == (
        "3 of 5 checks did not pass: images agree (not made), setup alike (failed), "
        "still present (not made)."
    )


def test_nothing_is_claimed_of_which_nothing_is_known():
    report = compose(
        range=history(1), answer=answer(step(0, 1, -0.25)), samples=[], setting=SETTING
    )
    assert {check.outcome.value for check in report.checks} == {"not made"}
    assert (report.scope, report.setup, report.artefacts, report.cost) == ((), (), (), None)


def test_a_report_without_a_culprit_checks_nothing():
    for report in (reports.not_reproduced(), reports.inconclusive()):
        assert (report.checks, report.disclaimer, report.candidates) == ((), "", ())


@pytest.mark.parametrize(
    ("new", "told"),
    [
        (LESS, "passed"),
        (LESS[:3], "passed"),
        (LESS[:2], "not made"),
        ((1000.0, 1001, 999, 1000, 1001), "failed"),
    ],
)
def test_both_sides_are_proved_by_three_boots_each_and_students_t(new, told):
    assert outcome(composed(values={0: FIVE, 1: new}), "both sides proved") == told


def test_a_change_in_the_wrong_direction_proves_nothing():
    report = composed(values={0: LESS, 1: FIVE})
    assert outcome(report, "both sides proved") == "failed"


def test_one_image_on_a_side_may_be_a_matter_of_layout():
    report = composed(more=samples({0: FIVE}, image=1))
    assert outcome(report, "images agree") == "not made"
    assert detail(report, "images agree").startswith("2 builds before and 1 after the step")


def test_a_job_that_makes_no_other_image_is_named():
    assert "cannot relink" not in detail(composed(), "images agree")
    assert detail(composed(one_order=True), "images agree").endswith(" The job cannot relink.")


def test_images_agree_when_each_shows_the_change_against_each():
    more = [*samples({0: FIVE}, image=1), *samples({1: LESS}, image=1)]
    assert outcome(composed(more=more), "images agree") == "passed"


def test_an_image_of_the_culprit_without_the_change_refutes_it():
    report = composed(more=samples({1: FIVE}, image=1))
    assert outcome(report, "images agree") == "failed"
    assert "two of them differ by +0.0 % only" in detail(report, "images agree")


def test_revisions_of_one_level_are_images_of_it_too():
    found = answer(step(1, 2, -0.25))
    report = composed(n=3, values={0: FIVE, 1: FIVE, 2: LESS, 3: LESS}, found=found)
    assert outcome(report, "images agree") == "passed"


@pytest.mark.parametrize(("newest", "told"), [(LESS, "passed"), (FIVE, "failed")])
def test_the_newest_revision_tells_whether_the_step_is_still_there(newest, told):
    report = composed(n=1, later=tuple(samples({7: newest})), tip=revision(9))
    assert outcome(report, "still present") == told
    assert "r311855, 2 commits before the tip" in detail(report, "still present")


def test_a_tip_with_too_few_boots_says_nothing():
    report = composed(n=1, later=tuple(samples({7: LESS[:2]})))
    assert outcome(report, "still present") == "not made"
    assert detail(report, "still present") == "r311855 has 2 boots only."


def test_the_culprit_itself_is_no_proof_that_the_step_is_still_there():
    report = composed(n=1)
    assert detail(report, "still present") == "No revision after r311849 was measured."


def test_other_steps_on_the_way_to_the_tip_may_be_why_the_level_is_low():
    report = reports.iflib()
    assert outcome(report, "still present") == "not made"
    assert "3 other steps lie between." in detail(report, "still present")


DAY_S = 86400.0
WELL = ControlRecord(label="r1", rounds=9, spread=0.0042, every_s=DAY_S, last_good_s=10 * DAY_S)


@pytest.mark.parametrize(
    ("control", "told", "words"),
    [
        (WELL, "passed", "The control image r1 stayed within 0.4 % of its level in 9 rounds."),
        (replace(WELL, held=True), "failed", "The testbed is in quarantine: r1 is off its"),
        (replace(WELL, rounds=1), "not made", "The level of r1 is not known yet."),
        (replace(WELL, last_good_s=7 * DAY_S), "not made", "r1 was last measured 72.0 h before"),
    ],
)
def test_the_control_image_tells_whether_the_lab_was_well(control, told, words):
    boots = tuple(Iteration(value=1000.0, at_s=10 * DAY_S) for _ in range(5))
    late = [replace(one, iterations=boots) for one in samples({0: FIVE})]
    report = composed(values={1: LESS}, more=late, control=control)
    assert outcome(report, "control image healthy") == told
    assert words in detail(report, "control image healthy")


def test_a_testbed_without_control_image_is_said_to_be_so_and_owes_no_check():
    report = composed(values={1: LESS}, images=images(DROP))
    assert "control image healthy" not in {check.name for check in report.checks}
    assert "control image" not in report.disclaimer
    assert (report.setup[-1].name, report.setup[-1].new) == ("control image", "none")
    under_control = composed(values={1: LESS}, images=images(DROP), control=WELL)
    assert "control image" not in {fact.name for fact in under_control.setup}


def test_identical_kernels_cannot_differ_in_what_they_do():
    both = images(DROP)
    same = tuple(replace(image, digest="c0ffee") for image in both)
    assert outcome(composed(images=both), "binary differs") == "passed"
    assert outcome(composed(images=same), "binary differs") == "failed"
    assert outcome(composed(images=both[:1]), "binary differs") == "not made"


def test_a_lab_that_changed_between_the_two_sides_is_shown_first():
    report = reports.broken_range()
    assert outcome(report, "setup alike") == "failed"
    first, *others = report.setup
    assert (first.name, first.old, first.new) == ("firmware", "1.16.3", "1.17.0")
    assert not any(fact.differs for fact in others)


def test_what_only_one_side_tells_is_a_difference():
    old, new = images(DROP)
    report = composed(images=(old, replace(new, facts=frozenset({("dut", "AMD GX-412TC")}))))
    assert [(fact.name, fact.new) for fact in report.setup] == [
        ("system", "(not reported)"),
        ("dut", "AMD GX-412TC"),
        ("control image", "none"),
    ]


def test_what_names_the_kernel_itself_is_no_difference_of_the_lab():
    old, new = images(DROP)
    told = [frozenset({("uname", f"FreeBSD {n}"), ("kernel configuration", n)}) for n in "12"]
    both = (
        replace(old, facts=old.facts | told[0]),
        replace(new, facts=old.facts | told[1]),
    )
    assert not {fact.name for fact in composed(images=both).setup} & {
        "uname",
        "kernel configuration",
    }
    assert outcome(composed(images=both), "setup alike") == "passed"


def test_scope_tells_changed_from_unchanged_from_unclear_from_not_measured():
    rows = {(row.testbed, row.workload): row for row in reports.iflib().scope}
    assert {where: row.reach.value for where, row in rows.items()} == {
        ("apu2", "forwarding"): "changed",
        ("apu2", "ipfw-statefull"): "changed",
        ("apu2", "pf-statefull"): "no change",
        ("xeon", "forwarding"): "unclear",
        ("xeon", "pf-statefull"): "not measured",
    }
    assert rows["apu2", "forwarding"].reported
    assert rows["apu2", "pf-statefull"].commits == 29


def test_scope_borrows_from_further_revisions_until_students_t_has_enough():
    values = {-2: (1000.0,), -1: (1001.0,), 0: (999.0,), 1: (750.0,), 2: (751.0,), 5: (749.0,)}
    (_, row) = composed(series=(series("apu2", "pf", values),)).scope
    assert (row.old, row.new, row.commits) == ("r311846", "r311853", 7)
    assert row.reach.value == "changed"


@pytest.mark.parametrize(
    ("standing", "reach", "words"),
    [
        (Standing.CONFIRMED, "changed", "changed, confirmed"),
        (Standing.DENIED, "no change", "no change, denied"),
        (Standing.UNCLEAR, "unclear", "unclear, not confirmed"),
    ],
)
def test_scope_tells_of_each_series_of_an_incident_what_boots_of_both_sides_say(
    standing, reach, words
):
    member = SeriesSamples(
        testbed="apu2", workload="pf", standing=standing, effect=-0.1, low=-0.11, high=-0.09
    )
    (_, row) = composed(series=(member,)).scope
    assert (row.standing, row.reach.value, reach_in_words(row)) == (standing, reach, words)
    assert (row.old, row.new, row.commits) == ("r311848", "r311849", 1)
    assert (row.effect, row.error) == (-0.1, pytest.approx(0.01))


@pytest.mark.parametrize(
    ("standings", "said"),
    [
        ({"xeon": "confirmed"}, "on both testbeds: xeon has -10.0 % +/- 1.0 %."),
        ({"xeon": "denied"}, "only on apu2: xeon has -10.0 % +/- 1.0 %."),
        ({"xeon": "waiting"}, "seen on apu2 alone so far: xeon has not answered yet."),
        ({"xeon": "unclear"}, "seen on apu2 alone so far: xeon does not tell."),
        (
            {"arm": "confirmed", "xeon": "confirmed"},
            "on all 3 testbeds: arm has -10.0 % +/- 1.0 %, xeon has -10.0 % +/- 1.0 %.",
        ),
        (
            {"arm": "confirmed", "xeon": "waiting"},
            "on apu2 and arm: arm has -10.0 % +/- 1.0 %, xeon has not answered yet.",
        ),
        (
            {"arm": "denied", "xeon": "unclear"},
            "seen on apu2 alone so far: arm has -10.0 % +/- 1.0 %, xeon does not tell.",
        ),
    ],
)
def test_the_report_says_on_which_testbeds_the_change_is(standings, said):
    figures = {"effect": -0.1, "low": -0.11, "high": -0.09}
    others = tuple(
        SeriesSamples(
            testbed=testbed,
            workload="forwarding",
            standing=Standing(standing),
            **(figures if standing in {"confirmed", "denied"} else {}),
        )
        for testbed, standing in standings.items()
    )
    another = SeriesSamples(testbed="apu2", workload="pf", standing=Standing.DENIED, **figures)
    report = composed(series=(another, *others))
    assert report.second_opinion == f"The change is {said}"
    assert report.second_opinion in opening(report)


def test_a_testbed_that_nobody_asked_is_no_second_opinion():
    unasked = series("xeon", "forwarding", {0: FIVE, 1: LESS})
    assert composed(series=(unasked,)).second_opinion == ""


def test_scope_says_of_a_series_that_waits_that_it_does():
    values = {0: FIVE, 1: LESS}
    waiting = replace(series("apu2", "pf", values), standing=Standing.WAITING)
    (_, row) = composed(series=(waiting,)).scope
    assert reach_in_words(row) == "changed, being confirmed"


def test_a_farm_with_one_workload_on_one_testbed_has_no_scope():
    assert composed().scope == ()


def test_artefacts_are_those_that_were_booted_next_to_the_step():
    unbooted = replace(images({1: LESS}, ordinal=1)[0], iterations=0)
    report = composed(images=(*images(DROP), unbooted))
    assert [(a.label, a.image, a.iterations, len(a.digest)) for a in report.artefacts] == [
        ("r311848", 0, 5, 64),
        ("r311849", 0, 5, 64),
    ]


def test_what_the_kernels_differ_by_in_size_is_said_in_one_sentence():
    def grown(old, new, ordinal=0):
        names = "text_bytes", "data_bytes", "bss_bytes"
        sides = zip(images(DROP, ordinal=ordinal), (old, new), strict=True)
        sized = [replace(one, **dict(zip(names, of, strict=True))) for one, of in sides]
        return composed(images=tuple(sized)).growth

    assert grown((24_576_000, 1000, 7), (24_588_288, 1000, 8)) == (
        "The kernel of r311849 has 12,288 bytes more text (+0.05 %) and 1 byte more bss (+14.29 %)"
        " than that of r311848."
    )
    assert "4 bytes less data (-50.00 %) than" in grown((5, 8, 0), (5, 4, 0))
    assert "9 bytes more bss than" in grown((5, 8, 0), (5, 8, 9))
    assert grown((5, 8, 0), (5, 8, 0)) == ""
    assert grown((None,) * 3, (5, 8, 0)) == ""
    assert grown((5, 8, 0), (6, 8, 0), ordinal=1) == ""


def test_cost_counts_boots_failures_and_the_images_that_were_booted():
    cost = reports.iflib().cost
    assert (cost.boots, cost.failed, cost.images, cost.build_s) == (25, 0, 5, 5 * 850.0)
    assert reports.broken_range().cost.failed == 1


def test_the_next_candidate_is_told_with_its_probability():
    (candidate,) = reports.iflib().candidates
    assert (candidate.first.label, candidate.last.label) == ("r311850", "r311850")
    unlikely = Suspect(old=1, new=2, probability=0.0001, effect=0.0)
    assert composed(runners_up={1: (unlikely,)}).candidates == ()


def test_a_thousand_commits_that_hardly_come_into_question_are_no_candidate():
    stretch = Suspect(old=1, new=1055, probability=0.0085, effect=-0.03)
    assert composed(runners_up={1: (stretch,)}).candidates == ()


def test_a_boot_that_never_began_did_not_fail():
    made = ProbeRecord(serial=1, label="r1", value=1.0, duration_s=60.0)
    failed = ProbeRecord(serial=2, label="r1", failure="no traffic", duration_s=60.0)
    waiting = ProbeRecord(serial=3, label="r2", failure="cancelled", made=False)
    spent = cost([made, failed, waiting], [])
    assert (spent.boots, spent.failed, spent.lab_s) == (2, 1, 120.0)
    assert cost([waiting], []) is None


def evidence(values) -> Evidence:
    return Evidence(
        measurements=tuple(
            Measurement(position=position, value=value, at_s=float(serial))
            for serial, (position, value) in enumerate(values)
        )
    )


POLICY = SearchPolicy(sigma_run=0.005, sigma_build=0.0)
HALVED = [
    *((0, 1000.0), (16, 750.0), (0, 1002.0), (16, 751.0)),
    *((8, 749.0), (4, 1001.0), (6, 750.0), (5, 999.0), (6, 752.0)),
]


def test_suspicion_is_on_all_until_both_ends_are_measured_and_narrows_then():
    stages = replay_stages(16, evidence(HALVED), POLICY, {float(i) for i in range(len(HALVED))})
    left = [stage.left for stage in stages]
    assert left[:2] == [16, 16]
    likeliest = [stage.suspects[0] for stage in stages[1:]]
    assert [one.new - one.old for one in likeliest] == [16, 16, 16, 8, 4, 2, 1, 1]
    # What one boot cleared, which may have been an outlier, is suspected again while it matters.
    assert left[4:] == [8, 12, 6, 1, 1]
    assert [stage.position for stage in stages] == [position for position, _ in HALVED]


def test_only_the_stages_that_were_asked_for_are_replayed():
    stages = replay_stages(16, evidence(HALVED), POLICY, {8.0})
    assert [(stage.at_s, stage.left) for stage in stages] == [(8.0, 1)]


def test_of_a_long_search_some_stages_are_replayed_the_last_among_them():
    many = [(0, 1000.0 + i % 7) for i in range(MOST_STAGES * 3)]
    stages = replay_stages(2, evidence(many), POLICY, {float(i) for i in range(len(many))})
    assert len(stages) == MOST_STAGES
    assert stages[-1].at_s == len(many) - 1


def test_the_runner_up_lies_beside_the_step_and_changes_the_same_way():
    found = answer(step(5, 6, -0.25))
    places = runners_up(16, evidence(HALVED), POLICY, found)[6]
    assert {(place.old, place.new) for place in places} <= {(4, 5), (6, 8)}
    assert all(place.effect < 0 and place.probability < 0.05 for place in places)
    odds = [place.probability for place in places]
    assert odds == sorted(odds, reverse=True)


def test_a_change_far_off_is_another_step_and_no_runner_up():
    far = [*HALVED, (12, 748.0), (14, 748.0), (13, 690.0), (13, 752.0)]
    places = runners_up(16, evidence(far), POLICY, answer(step(5, 6, -0.25)))[6]
    assert all(place.new <= 8 for place in places)


def test_nothing_is_next_before_two_revisions_are_measured():
    assert runners_up(16, evidence(HALVED[:1]), POLICY, answer()) == {}
