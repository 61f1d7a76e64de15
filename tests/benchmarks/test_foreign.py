"""The judge is held against shifts that last, in results as others keep them."""

import random
from pathlib import Path

import pytest

from benchmarks import foreign
from benchmarks.__main__ import main
from buildbot_bench.core.judge.recorded import Recorded, RecordedPoint
from buildbot_bench.core.metric import Metric

NIGHTS, FROM, EARLY = 120, 70, 7
HEADER = "Test name\tPHP\tPHP Commit hash\tMedian"


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Nights of one host: tests that get 6 % slower, one of them early, and one that stays."""
    draw = random.Random(2)
    for night in range(NIGHTS):
        place = tmp_path / "2025" / f"2025_{night:03d}_01_00_00_00_1_host"
        place.mkdir(parents=True)
        rows = [HEADER]
        for name, since in (("slower", FROM), ("early", EARLY), ("same", NIGHTS)):
            value = (1 + 0.06 * (night >= since)) * draw.lognormvariate(0, 0.004)
            rows.append(f"{name}\tPHP - master\tc{night}\t{value:.5f}")
            rows.append(f"{name}\tPHP - baseline@d5f6\td5f6\t1.0")
        (place / "result.tsv").write_text("\n".join(rows) + "\n")
    (tmp_path / "2025" / "database.tsv").write_text("")
    return tmp_path


def test_the_table_has_alarms_and_hits(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["foreign", str(results), "--effect", "0.02"]) == 0
    told = capsys.readouterr().out
    assert f"3 series, {3 * NIGHTS} points, 1 lasting shifts" in told
    assert "| bench-judge | 2 | 1 of 1 | 1 | 0 | 0 | " in told
    assert f"slower on host: shifts at [{FROM}], alarms at [{FROM}]" in told
    assert f"early on host: shifts at [], alarms at [{EARLY}]" in told


@pytest.mark.parametrize("length", [1, 6, foreign.LOOK])
def test_a_spell_is_no_lasting_shift(length: int) -> None:
    draw = random.Random(5)
    values = [draw.lognormvariate(0, 0.002) for _ in range(100)]
    for place in range(50, 50 + length):
        values[place] *= 1.05
    metric = Metric(name="t", unit="s", higher_is_better=False)
    points = tuple(RecordedPoint(label=str(n), values=(v,)) for n, v in enumerate(values))
    found = foreign.lasting(Recorded(name="x", metric=metric, points=points), 0.02)
    assert found == ([50, 50 + length] if length >= foreign.LOOK else [])
