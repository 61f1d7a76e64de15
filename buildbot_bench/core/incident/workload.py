"""The diagnosis of a broken workload, from kernels that passed it before and now fail alike.

A kernel that worked before and now fails has not changed, so its workload has. Two such kernels,
the two ends of a search or two variants of a comparison are the evidence.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

_PAUSE_S, _LONGEST_PAUSE_S = 60.0, 3600.0  # chosen: a person fixes it within minutes, or overnight
_DOUBTED = 2  # kernels that fail alike in a row, from which on one of good standing is booted
_TOGETHER = 2  # kernels of good standing that fail alike; chosen: one may be broken by its disk
_VARYING = re.compile(r"0x[0-9a-f]+|[0-9a-f]{7,}|\d+(?:\.\d+)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """One job of boots of a kernel in a series: whether it gave a value, else why not.

    `kernel` tells kernels apart, `label` is its revision's name, `number` the job's. `at_s` is when
    it ended, in seconds. `retry` marks those that were made to find out whether it works again.
    """

    number: int
    kernel: str
    label: str
    at_s: float
    worked: bool
    reason: str = ""
    retry: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokenWorkload:
    """It is the workload: `first` and `second` stood well, or are two ends, and fail alike.

    `since` are all attempts since anything worked, oldest first; what they say of kernels is
    nothing. `stood_well` is False where it is two ends that nothing was measured of. `worked` is
    the last attempt that gave a value, None where none is known. The workload is to be tried again
    at `again_at_s`, in seconds.
    """

    first: Attempt
    second: Attempt
    since: tuple[Attempt, ...]
    stood_well: bool
    again_at_s: float
    worked: Attempt | None = None


def judge_workload(
    attempts: Iterable[Attempt],
    *,
    ends: Iterable[tuple[str, str]] = (),
    compared: Collection[str] = (),
) -> BrokenWorkload | Attempt | None:
    """What the attempts of one series say of its workload; None: nothing speaks against it.

    An attempt: kernels fail alike, and its kernel, of good standing, is to be booted before that is
    believed.

    `ends` are pairs of kernels that people, or alarms, hold against each other. Of `compared`
    kernels the first failure calls for a kernel of good standing; of others the second does, and
    after failures that were the kernels' own, as many as those were.
    """
    ordered = sorted(attempts, key=lambda one: (one.at_s, one.number))
    worked = [place for place, one in enumerate(ordered) if one.worked]
    last = worked[-1] if worked else -1
    since = tuple(ordered[last + 1 :])
    if not since:
        return None
    worked_last = ordered[last] if worked else None
    alike: dict[str, Attempt] = {}
    for one in since:
        if fail_alike(one, since[-1]):
            alike.setdefault(one.kernel, one)
    stood = {ordered[place].kernel: ordered[place] for place in worked}
    well = [one for kernel, one in alike.items() if kernel in stood]
    if len(well) >= _TOGETHER:
        return _broken(well, since, worked_last, stood_well=True)
    for pair in ends:
        if pair[0] != pair[1] and all(end in alike for end in pair):
            return _broken([alike[end] for end in pair], since, worked_last, stood_well=False)
    failed = {one.kernel for one in since}
    own = {one.kernel for one in ordered[: last + 1] if not one.worked and one.kernel not in stood}
    few = max(_DOUBTED, len(own)) if not failed & set(compared) else 1
    if not well and len(alike) < few:
        return None
    others = [one for kernel, one in stood.items() if kernel not in failed]
    return max(others, key=lambda one: one.at_s, default=None)


def fail_alike(one: Attempt, other: Attempt) -> bool:
    """Whether two attempts failed for the same reason, numbers and addresses aside."""
    if one.worked or other.worked:
        return False
    return _VARYING.sub("#", one.reason.lower()) == _VARYING.sub("#", other.reason.lower())


def _broken(
    proof: list[Attempt],
    since: tuple[Attempt, ...],
    worked: Attempt | None,
    *,
    stood_well: bool,
) -> BrokenWorkload:
    known = since.index(max(proof[:_TOGETHER], key=since.index))
    tries = sum(one.retry for one in since[known + 1 :])
    pause_s = min(_PAUSE_S * 2.0 ** min(tries, 16), _LONGEST_PAUSE_S)
    return BrokenWorkload(
        first=proof[0],
        second=proof[1],
        since=since,
        stood_well=stood_well,
        again_at_s=since[-1].at_s + pause_s,
        worked=worked,
    )


def broken_workload_text(
    broken: BrokenWorkload, *, workload: str, testbed: str, output: str = ""
) -> str:
    """What is wrong, how that is known, and what to try, in one line; `output` is the failure's."""
    known = "which it measured before, " if broken.stood_well else "the two ends, "
    said = f"; the last lines of its output: {output}" if output else ""
    return (
        f"workload {workload} is broken on testbed {testbed}: {broken.first.label} and "
        f"{broken.second.label}, {known}fail alike: {broken.second.reason}; run it by hand there "
        f"(`bench-lab check {testbed}`, then `bench-lab run`); no commit is blamed, and what waits "
        f"goes on when it works again{said}"
    )
