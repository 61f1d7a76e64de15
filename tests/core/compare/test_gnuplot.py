"""The real gnuplot draws what a result directory holds, and complains of nothing."""

import shutil
from pathlib import Path

import pytest

from buildbot_bench.core.compare.published import PublishedSeries, PublishedVariant, published_files
from tests.running import ran

GNUPLOT = shutil.which("gnuplot")
LONG = "313448perf_netmapnoprefetch"


def a_series(workload: str, variants: int, unit: str) -> PublishedSeries:
    """Three boots of each variant, the first without any."""
    return PublishedSeries(
        workload=workload,
        unit=unit,
        variants=tuple(
            PublishedVariant(
                label=f"{LONG} 'no {number}'",
                image=f"{LONG}{number}",
                values=(5e5 + number, 6e5, 5.5e5) if number else (),
            )
            for number in range(variants)
        ),
    )


@pytest.mark.skipif(GNUPLOT is None, reason="there is no gnuplot on the PATH")
@pytest.mark.parametrize("unit", ["pps", "instructions/packet"])
@pytest.mark.parametrize("variants", [2, 7, 16])
def test_gnuplot_draws_the_graph_of_a_result_directory(
    tmp_path: Path, variants: int, unit: str
) -> None:
    several = [a_series(workload, variants, unit) for workload in ("forwarding", "pf_statefull")]
    for name, body in published_files("A & 'B' `C`", "", several).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(body, encoding="utf-8")
    for settings in ([], ["-e", "svg=1"]):
        done = ran([str(GNUPLOT), *settings, "gnuplot.plt"], cwd=tmp_path, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "graph.svg").read_text(encoding="utf-8")
    for number in range(variants):
        assert f"'no {number}'" in svg
    assert "forwarding" in svg
    assert "pf_statefull" in svg
