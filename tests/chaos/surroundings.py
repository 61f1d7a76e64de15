"""Faults of a farm's surroundings: disk, clock, network, database, mail, git, settings."""

import random
from collections.abc import Callable

from tests.chaos.farm import ChaosFarm
from tests.chaos.faults import Fault, Struck, Target, no_server
from tests.chaos.relay import Relay
from tests.chaos.truth import LEVEL

_SHORT_S, _LONG_S = 2.0, 8.0
_HOUR_S = 3600
_LOST_PERCENT = 5, 50


def _fill_disk(target: Target, chance: random.Random) -> Struck:
    disk = target.farm.disk
    disk.fill()
    return Struck(what="no byte free", lasts_s=_some(chance), undo=disk.free)


def _lock_database(target: Target, chance: random.Random) -> Struck:
    farm = target.farm
    farm.lock_database()
    return Struck(what="by another program", lasts_s=_some(chance), undo=farm.unlock_database)


def _close_database(target: Target, chance: random.Random) -> Struck:
    undo = target.farm.close_database()
    return Struck(what="it lets nobody in", lasts_s=2 * _some(chance), undo=undo)


# What is written of a build between its request's claim and its end, and of what it measures.
_WRITTEN = (
    "INSERT ON buildrequest_claims",
    "INSERT ON builds",
    "UPDATE ON builds",
    "INSERT ON steps",
    "UPDATE ON steps",
    "INSERT ON logs",
    "INSERT ON logchunks",
    "INSERT ON build_properties",
    "UPDATE ON buildrequests",
    "UPDATE ON buildsets",
    "INSERT ON bench_iteration",
    "UPDATE ON bench_probe",
    "UPDATE ON bench_image",
)


def _refuse_writing(target: Target, chance: random.Random) -> Struck:
    """Have one kind of statement fail: a full disk does not choose, and seldom hits just one."""
    what = chance.choice(_WRITTEN)
    target.farm.refuse(what)
    return Struck(what=what, lasts_s=2 * _some(chance), undo=target.farm.refuse_no_more)


def _stop_clock(target: Target, chance: random.Random) -> Struck:
    clock = target.farm.clock
    clock.stop()
    return Struck(what="it stands", lasts_s=_some(chance), undo=clock.go_on)


def _set_clock(sign: int) -> Callable[[Target, random.Random], Struck]:
    def strike(target: Target, chance: random.Random) -> Struck:
        seconds = sign * chance.randint(1, _HOUR_S)
        target.farm.clock.set(seconds)
        return Struck(what=f"by {seconds:+} s")

    return strike


def _drop_network(target: Target, _chance: random.Random) -> Struck | None:
    number = target.farm.relay.drop()
    return Struck(what=f"{number} connections") if number else None


def _hold_network(target: Target, chance: random.Random) -> Struck:
    relay = target.farm.relay
    relay.holds = True
    return Struck(what="no byte passes", lasts_s=_some(chance), undo=lambda: _release(relay))


def _release(relay: Relay) -> None:
    relay.holds = False


def _delay_network(target: Target, chance: random.Random) -> Struck:
    relay = target.farm.relay
    relay.delay_s = chance.uniform(0.05, 0.5)
    return Struck(
        what=f"{relay.delay_s:.2f} s each way", lasts_s=_some(chance), undo=lambda: _hasten(relay)
    )


def _hasten(relay: Relay) -> None:
    relay.delay_s = 0.0


def _lose_packets(target: Target, chance: random.Random) -> Struck:
    loss = target.farm.loss
    percent = chance.randint(*_LOST_PERCENT)
    loss.lose(percent)
    return Struck(what=f"{percent} % each way", lasts_s=2 * _some(chance), undo=loss.stop)


def _fail_mail(target: Target, chance: random.Random) -> Struck:
    post = target.farm.post
    how = chance.choice((post.stop, post.refuse, post.drop))
    how()
    return Struck(what=how.__name__, lasts_s=4 * _some(chance), undo=post.work)


def _fail_git(target: Target, chance: random.Random) -> Struck:
    refusal = target.farm.transport / "refusal"
    refusal.write_text("ssh: connect to host example.org port 22: Connection refused\n")
    return Struck(what="it refuses", lasts_s=2 * _some(chance), undo=refusal.unlink)


def _rewrite(name: str, *replaced: tuple[str, str], back: bool = True) -> Fault:
    def strike(target: Target, chance: random.Random) -> Struck:
        target.farm.write_workflow(*replaced)
        undo = target.farm.write_workflow if back else None
        return Struck(what="bench.yml", lasts_s=_some(chance), undo=undo)

    return Fault(name=name, weight=2, strike=strike)


def _some(chance: random.Random) -> float:
    return chance.uniform(_SHORT_S, _LONG_S)


def _no_clock(farm: ChaosFarm) -> str:
    return farm.clock.lacks


def _no_loss(farm: ChaosFarm) -> str:
    return farm.loss.lacks


def _no_disk(farm: ChaosFarm) -> str:
    return farm.disk.lacks


SURROUNDINGS = (
    Fault(name="full disk", weight=3, strike=_fill_disk, missing=_no_disk),
    Fault(name="database locked", weight=3, strike=_lock_database),
    Fault(name="database away", weight=3, strike=_close_database, missing=no_server),
    Fault(name="database refuses", weight=6, strike=_refuse_writing),
    Fault(name="clock stands", weight=2, strike=_stop_clock, missing=_no_clock),
    Fault(name="clock set forward", weight=2, strike=_set_clock(1), missing=_no_clock),
    Fault(name="clock set back", weight=2, strike=_set_clock(-1), missing=_no_clock),
    Fault(name="network drops", weight=4, strike=_drop_network),
    Fault(name="network holds", weight=3, strike=_hold_network),
    Fault(name="network delays", weight=3, strike=_delay_network),
    Fault(name="network loses packets", weight=3, strike=_lose_packets, missing=_no_loss),
    Fault(name="mail server fails", weight=4, strike=_fail_mail),
    Fault(name="git server fails", weight=3, strike=_fail_git),
    _rewrite("good bench.yml", ("name: Replay", "name: Replayed"), back=False),
    _rewrite("bad bench.yml", ("testbeds:", "testbeds: [")),
    _rewrite("shrinking bench.yml", (f", {LEVEL}]", "]")),
)
