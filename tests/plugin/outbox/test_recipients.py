"""Whom the farm writes to: nobody whom bench.yml did not choose, unless it chose authors too."""

import pytest

from buildbot_bench.core.revision import Particulars, RevisionRange
from buildbot_bench.plugin.outbox.search_mails import addressees, recipients_among
from buildbot_bench.workflow.settings import Mail
from tests.fakes import reports
from tests.fakes.reports import history, of_one_step

LISTED = ("Net <net@example.org>", "ann@example.org")


def culprit(author: str, effect: float = -0.25):
    return of_one_step(history(1, _1={"author": author}), effect)


def mail(**changed) -> Mail:
    return Mail.model_validate({"from": "bench@example.org", "to": list(LISTED)} | changed)


def recipients_of(report, mail, known=None) -> list[str]:
    suspects = report.headline.suspects if report.mailable and report.headline else ()
    return recipients_among(suspects, mail, known or {})


def added(report) -> list[str]:
    """Whom it goes to beside those of bench.yml, which names authors."""
    return recipients_of(report, mail(**{"to-author": True}))[len(LISTED) :]


def test_authors_are_not_mailed_unless_bench_yml_says_so():
    report = culprit("Iff Lib <iflib@example.org>")
    assert recipients_of(report, mail()) == [*LISTED]
    assert recipients_of(report, mail(**{"to-author": True})) == [*LISTED, "iflib@example.org"]


@pytest.mark.parametrize("author", ["Net <NET@example.org>", "Ann <ann@example.org>"])
def test_an_author_who_is_named_already_is_mailed_once(author):
    assert recipients_of(culprit(author), mail(**{"to-author": True})) == [*LISTED]


@pytest.mark.parametrize(
    "author",
    [
        "",
        "nobody",
        "root <root@localhost>",
        "root <root@myhost.>",
        "A <a@example.org>, B <b@example.org>",
        "A <a@example.org\r\nBcc: all@example.org>",
        "Jörg <jörg@example.org>",
        reports.HOSTILE,
    ],
)
def test_what_is_no_address_is_left_out(author):
    assert added(culprit(author)) == []


def test_the_name_that_an_author_chose_does_not_become_a_header():
    assert added(culprit('"All, of you" <a@example.org>')) == ["a@example.org"]


def test_nobody_is_accused_by_lot_or_for_an_improvement():
    assert added(reports.broken_range()) == []
    assert added(culprit("A <a@example.org>", effect=0.25)) == []
    assert added(reports.inconclusive()) == []


TOUCHED = Particulars(
    committer="Cora <cora@example.org>", paths=("sys/net/iflib.c", "share/man/man4/em.4")
)
LISTS = {"sys/net/**": ["net2@example.org", "Ann <ANN@example.org>"], "sys/arm/**": ["arm@x.org"]}


def known(report, particulars=TOUCHED):
    return {suspect.sha: particulars for suspect in report.headline.suspects}


def test_lists_are_told_of_what_touches_their_paths_each_address_once():
    report = culprit("A <a@example.org>")
    told = recipients_of(report, mail(paths=LISTS), known(report))
    assert told == [*LISTED, "net2@example.org"]
    broken = reports.broken_range()
    assert "net2@example.org" in recipients_of(broken, mail(paths=LISTS), known(broken))


def test_the_committer_is_told_if_bench_yml_says_so_and_nobody_is_accused_by_lot():
    report, broken = culprit("A <a@example.org>"), reports.broken_range()
    wanted = mail(**{"to-author": True, "to-committer": True})
    assert recipients_of(report, mail(), known(report)) == [*LISTED]
    assert recipients_of(report, wanted, known(report)) == [
        *LISTED,
        "a@example.org",
        "cora@example.org",
    ]
    assert recipients_of(broken, wanted, known(broken)) == [*LISTED]


def test_a_hostile_committer_is_left_out():
    report = culprit("A <a@example.org>")
    wanted = mail(**{"to-committer": True})
    for name in (reports.HOSTILE, "root <root@localhost>", "A <a@x.org>, B <b@x.org>"):
        assert recipients_of(report, wanted, known(report, Particulars(committer=name))) == [
            *LISTED
        ]


@pytest.mark.parametrize("pattern", ["!sys/**", "/sys/**", ""])
def test_a_path_that_takes_nothing_is_refused(pattern):
    with pytest.raises(ValueError, match=r"paths"):
        mail(paths={pattern: ["net@example.org"]})


async def test_the_mirror_says_what_a_suspect_touches(farm, published):
    _, _, shas = published
    between = RevisionRange(revisions=tuple(map(farm.history.resolve, ("r6", "r7"))))
    report = of_one_step(between)
    suspects = report.headline.suspects
    assert suspects[0].sha == shas[7]
    told = await addressees(farm, mail(paths={"sys/*.c": ["c@example.org"]}), suspects, blamed=True)
    assert told == [*LISTED, "c@example.org"]
    assert await addressees(
        farm, mail(paths={"sys/arm/**": ["c@example.org"]}), suspects, blamed=True
    ) == [*LISTED]
