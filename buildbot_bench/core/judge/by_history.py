"""The verdict on a sample by the noise of its history, with the noise that people marked."""

from __future__ import annotations

from collections.abc import Sequence

from buildbot_bench.core.judge.decide import judge
from buildbot_bench.core.judge.marks import noise_marks
from buildbot_bench.core.judge.model import JudgePolicy, Settled, Verdict
from buildbot_bench.core.model import Noise, learn, with_marked_noise
from buildbot_bench.core.sample import Sample


def judge_by_history(
    history: Sequence[Sample], new: Sample, policy: JudgePolicy, settled: Sequence[Settled]
) -> Verdict:
    """The verdict on a sample by the noise of its history, with what of it was marked as noise."""
    _, noise = noise_by_marks(history, settled)
    return judge(history, new, noise, policy, settled)


def noise_by_marks(history: Sequence[Sample], marks: Sequence[Settled]) -> tuple[Noise, Noise]:
    """The noise of a history without marks, and with them."""
    noise = learn(history)
    last = max((sample.position for sample in history), default=0)
    places = [(mark.began, mark.judged) for mark in noise_marks(marks, last)]
    return noise, with_marked_noise(noise, history, places)
