"""Kill either of two masters at random moments and print the violated invariants.

`python -m tests.chaos.masters --kills 200` runs searches one after the other until so many masters
were killed. It ends with 1 when an answer is wrong, or when an invariant is violated.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.chaos.several_masters import TAKEOVER_S, SeveralMasters, Takeover
from tests.chaos.truth import RANGES, truth_in
from tests.databases import new_database, postgresql_server
from tests.e2e.checks import (
    assert_each_iteration_is_there_once,
    assert_nothing_was_cancelled,
    assert_whole,
    steps_of,
)
from tests.e2e.inbox import Inbox
from tests.e2e.replay_farm import Shape

Question = tuple[str, str, list[tuple[str, str, int]]]
"""The ends of a search, and the steps that it is to find."""
LONGEST_LIFE_S = 6.0
SEARCH_S = 1200.0


@dataclass(kw_only=True)
class Ledger:
    """What was done to a farm and what came of it."""

    kills: list[Takeover] = field(default_factory=list)
    searches: int = 0
    repeated_mails: int = 0
    violations: list[str] = field(default_factory=list)

    @property
    def longest_s(self) -> float:
        """The longest time without a broker."""
        return max((one.seconds for one in self.kills if one.seconds is not None), default=0.0)

    def __str__(self) -> str:
        killed = Counter(one.killed for one in self.kills)
        brokers = [one for one in self.kills if one.was_broker]
        rows = {
            "kills": str(len(self.kills)),
            **{f"of {name}": str(number) for name, number in sorted(killed.items())},
            "of the one that ran the broker": str(len(brokers)),
            "taken over by the other": str(sum(one.seconds is not None for one in brokers)),
            "longest without a broker then": f"{self.longest_s:.0f} s",
            "searches": str(self.searches),
            "mails sent again with their Message-ID": str(self.repeated_mails),
            "violations": str(len(self.violations)),
        }
        return "\n".join(f"| {name} | {value} |" for name, value in rows.items())


def kill_through_a_search(
    farm: SeveralMasters,
    inbox: Inbox,
    dice: random.Random,
    ledger: Ledger,
    *,
    most: int,
    question: Question,
) -> None:
    """Run a search in which masters are killed, `most` at most; what contradicts is written down.

    AssertionError when something that must come does not come.
    """
    old, new, steps = question
    search_id = farm.wait(lambda: farm.begin_anywhere(old, new), "a master that takes a search")
    ledger.searches += 1
    for _ in range(most):
        time.sleep(dice.uniform(0.0, LONGEST_LIFE_S))
        if farm.has_ended(search_id):
            break
        takeover = farm.kill_one(dice)
        ledger.kills.append(takeover)
        if takeover.seconds is not None and takeover.seconds > TAKEOVER_S:
            ledger.violations.append(f"no broker for {takeover.seconds:.0f} s")
    farm.wait(lambda: farm.has_ended(search_id), f"the end of search {search_id}", SEARCH_S)
    farm.wait(lambda: _is_told(farm, search_id), f"the mail of search {search_id}", SEARCH_S)
    reports = farm.wait(lambda: farm.reports(search_id), "pages of both masters")
    for found in map(steps_of, reports):
        if found != steps:
            ledger.violations.append(f"search {search_id} from {old} to {new} found {found}")
    ledger.violations += _mails_amiss(farm, inbox, ledger)


def _is_told(farm: SeveralMasters, search_id: int) -> bool:
    """Whether its mail is sent, or is one that nobody gets: a commit that made it faster."""
    query = "SELECT state FROM bench_report WHERE search_id = :id"
    return farm.value(query, id=search_id) in {"sent", "withheld"}


def _mails_amiss(farm: SeveralMasters, inbox: Inbox, ledger: Ledger) -> Iterator[str]:
    """What was sent is what the tables say; one that a server took as its master died may come
    again under the same Message-ID.
    """
    taken = Counter(str(mail["Message-ID"]) for mail in inbox.mails())
    ledger.repeated_mails = sum(taken.values()) - len(taken)
    due = "SELECT message_id FROM bench_report WHERE state <> 'withheld'"
    written = {row["message_id"] for row in farm.rows(due)}
    if strange := set(taken) ^ written:
        yield f"mails sent or written, not both: {sorted(strange)}"


def what_contradicts(farm: SeveralMasters) -> Iterator[str]:
    """What does not hold of the farm as it is, when nothing is asked of it any more."""
    for check in (assert_each_iteration_is_there_once, assert_nothing_was_cancelled, assert_whole):
        try:
            check(farm)
        except AssertionError as error:
            yield f"{check.__name__}: {error}"


def main(arguments: list[str] | None = None) -> int:
    """Kill as often as is asked for; print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.masters", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="default: %(default)s")
    parser.add_argument("--minutes", type=float, default=60.0, help="or after so many (60)")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--dir", type=Path, required=True, help="a directory not there yet")
    options = parser.parse_args(arguments)
    options.dir.mkdir()
    home, dice, ledger = options.dir.resolve(), random.Random(options.seed), Ledger()
    try:
        with new_database(postgresql_server()) as url, Inbox(home) as inbox:
            truth = truth_in(home, options.seed)
            shape = Shape(
                tip=truth.ends(RANGES - 1)[1],
                db_url=url,
                blast_s=2.0,
                commits=False,
                smtp_port=inbox.port,
                series=truth.series,
            )
            (home / "farm").mkdir()
            farm = SeveralMasters(home / "farm", truth.history, shape)
            try:
                farm.start()
                end_s = time.monotonic() + 60 * options.minutes
                while len(ledger.kills) < options.kills and time.monotonic() < end_s:
                    left = options.kills - len(ledger.kills)
                    ends = truth.ends(ledger.searches % RANGES)
                    question = (*ends, truth.within(*ends))
                    kill_through_a_search(farm, inbox, dice, ledger, most=left, question=question)
                    print(f"{ledger}\n", flush=True)
                ledger.violations += what_contradicts(farm)
            except AssertionError as hangs:
                farm.show_stacks()
                ledger.violations.append(str(hangs))
            finally:
                farm.end()
    except pytest.skip.Exception as reason:
        print(reason, file=sys.stderr)
        return 4
    print(ledger)
    for violation in ledger.violations:
        print(f"  {violation}")
    return 1 if ledger.violations else 0


if __name__ == "__main__":
    sys.exit(main())
