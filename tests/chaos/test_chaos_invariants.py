"""What is no fault of the farm is no violation; a second mail and a wrong answer are."""

from pathlib import Path
from types import SimpleNamespace

from tests.chaos.demand import Client
from tests.chaos.invariants import failed_clients, wrong_answers, wrong_mails
from tests.chaos.post import Taken
from tests.chaos.truth import WORKLOAD, explains, truth_in


def farm(*taken: Taken, sent: tuple[str, ...] = ("<1>",)) -> SimpleNamespace:
    rows = [{"message_id": message_id, "state": "sent"} for message_id in sent]
    return SimpleNamespace(rows=lambda _query: rows, post=SimpleNamespace(taken=list(taken)))


def mail(at_s: float, message_id: str = "<1>", *, silent: bool = False) -> Taken:
    return Taken(message_id=message_id, subject="Slower", at_s=at_s, kept_silent=silent)


def test_a_mail_that_comes_twice_is_a_violation_unless_its_sender_could_not_know() -> None:
    assert list(wrong_mails(farm(mail(1.0)), [])) == []
    assert list(wrong_mails(farm(mail(10.0), mail(70.0)), [5.0, 80.0])) == [
        "mail <1> (Slower) was sent again"
    ]
    assert list(wrong_mails(farm(mail(10.0), mail(70.0)), [10.5])) == []
    assert list(wrong_mails(farm(mail(10.0, silent=True), mail(70.0)), [])) == []


def test_a_mail_of_no_row_and_a_row_of_no_mail_are_violations() -> None:
    assert list(wrong_mails(farm(mail(1.0, "<2>")), [])) == [
        "mail <2> (Slower) is in no table",
        "mail <1> is told to be sent, and never came",
    ]


def test_a_command_that_had_begun_to_follow_ends_with_an_answer(tmp_path: Path) -> None:
    said = tmp_path / "said"

    def ended(status: int, words: str) -> list[str]:
        said.write_text(words)
        return list(failed_clients([(Client(command=("b",), process=None, said=said), status)]))

    assert ended(0, "r2 is slower") == []
    assert ended(4, "no farm answers") == []
    assert len(ended(4, "the search goes on with the farm: `bench-bisect --follow 1`")) == 1
    assert len(ended(1, "Traceback")) == 1


def test_a_search_that_says_what_is_not_so_is_a_violation(tmp_path: Path) -> None:
    truth = truth_in(tmp_path, seed=1)
    old, new = truth.ends(0)
    ((before, culprit, sign),) = truth.within(old, new)

    def answers(effect: float) -> list[str]:
        step = {"old": {"label": before}, "new": {"label": culprit}, "effect": effect}
        ends = {"old": {"label": old}, "new": {"label": new}}
        search = ends | {"state": "found", "report": {"steps": [step]}, "detail": ""}
        told = SimpleNamespace(
            truth=truth,
            get=lambda _path: {"searches": [search]},
            rows=lambda query: (
                [{"id": 1, "workload": WORKLOAD, "reason": "person"}] if "search" in query else []
            ),
        )
        return list(wrong_answers(told))

    assert answers(0.1 * sign) == []
    assert len(answers(-0.1 * sign)) == 1


def test_an_answer_explains_the_levels_at_both_ends_and_at_each_step_it_names() -> None:
    down, up, down_again = there = (("r1", "r2", -1), ("r7", "r8", 1), ("r9", "r10", -1))
    for found in ([down], [down_again], [down, up, down_again]):
        assert explains(found, there)
    for found in ([], [up], [down, up], [down, down_again], [up, down], [("r2", "r3", -1)]):
        assert not explains(found, there)
    assert explains([up], [up])
    assert not explains([], [])
