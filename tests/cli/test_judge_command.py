"""bench-judge reads what others measured, tells the changes and ends with the status for a gate."""

import io
import json
import random
import sys
import threading
import time
from pathlib import Path

import pytest

from buildbot_bench.archives.series import read_series
from buildbot_bench.cli.judge import main
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.metric import NoiseClass
from tests.running import ran

DATA = Path(__file__).parent.parent / "data" / "judged"
VALUES = [1.0, 1.01, 0.99, 1.0, 1.2, 1.21, 1.19, 1.2]


def table(effect: float = 0.0, revisions: int = 60, at: int = 40, seed: int = 3) -> str:
    """A CSV with 1 % of noise and a change of that effect."""
    draw = random.Random(seed)
    factors = (1 + effect if n >= at else 1 for n in range(revisions))
    lines = (f"c{n},{f * draw.lognormvariate(0, 0.01):.5f},ms" for n, f in enumerate(factors))
    return "\n".join(["commit,value,unit", *lines]) + "\n"


def judged(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, dict]:
    status = main([*argv, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_a_change_is_told_with_its_first_revision(tmp_path, capsys):
    path = tmp_path / "times.csv"
    path.write_text(table(0.08))
    status, told = judged(capsys, str(path))
    (series,) = told["series"]
    (change,) = series["changes"]
    assert (status, change["first"], change["before"]) == (0, "c40", "c39")
    assert change["direction"] == "regression"
    assert change["low"] < 0.08 < change["high"]
    assert change["probability"] > 0.9
    assert main([str(path), "--higher-is-better"]) == 0
    assert "improvement +8" in capsys.readouterr().out


def test_nothing_is_told_of_noise(tmp_path, capsys):
    path = tmp_path / "times.csv"
    path.write_text(table())
    status, told = judged(capsys, str(path))
    assert (status, told["series"][0]["changes"]) == (1, [])


def test_several_series_say_that_they_share_the_false_alarms(tmp_path, capsys):
    path = tmp_path / "times.csv"
    rows = [f"c{n},{name},{1 + n % 3 / 100}" for name in "abc" for n in range(20)]
    path.write_text("\n".join(["commit,series,value", *rows]))
    shared = "3 series share one false alarm in 1,000 revisions"
    assert main([str(path), "--html", str(tmp_path / "page.html")]) == 1
    assert capsys.readouterr().out.endswith(f"\n\n{shared}\n")
    assert shared in (tmp_path / "page.html").read_text()
    main([str(path), "--metric", "a"])
    assert "share" not in capsys.readouterr().out


def test_a_gate_fails_on_a_regression_alone(tmp_path, capsys):
    slower, faster = tmp_path / "slower.csv", tmp_path / "faster.csv"
    slower.write_text(table(0.08))
    faster.write_text(table(-0.08))
    assert main([str(slower), "--fail-on", "regression"]) == 1
    assert main([str(faster), "--fail-on", "regression"]) == 0
    assert main([str(faster), "--fail-on", "change"]) == 1
    assert main([str(slower), "--fail-on", "never"]) == 0


def test_a_step_of_the_last_revision_is_a_perhaps(tmp_path, capsys):
    path = tmp_path / "times.csv"
    path.write_text(table(0.08, at=59))
    status, told = judged(capsys, str(path))
    assert (status, told["series"][0]["changes"]) == (3, [])
    assert told["series"][0]["perhaps"]["effect"] == pytest.approx(0.08, abs=0.03)


@pytest.mark.parametrize(
    ("name", "series", "unit"),
    [
        ("asv", "suite.time_decode('a') [runner, virtualenv-py3.12]", "seconds"),
        ("pytest-benchmark", "tests/test_x.py::test_decode", "s"),
        ("data.js", "Rust Benchmark: decode", "ns/iter"),
        ("bencher.json", "decode, Latency, ci, main", "nanoseconds (ns)"),
        ("influx.lp", "bench x host=ci decode_s", ""),
    ],
)
def test_a_format_is_read_in_the_order_of_its_commits(name, series, unit):
    found = {one.name: one for one in read_series([str(DATA / name)], [], None)}
    one = found[series]
    assert [point.label for point in one.points] == [f"c{n}" for n in range(8)]
    assert [point.values for point in one.points] == [(value,) for value in VALUES]
    assert (one.metric.unit, one.metric.higher_is_better) == (unit, False)
    assert not any("time_old" in name for name in found)


def test_repetitions_of_one_process_are_one_value():
    real, cpu = read_series([str(DATA / "google.json")], [], None)
    assert (real.name, real.points[0].label, real.points[0].values) == (
        "decode real_time",
        "c4",
        (20,),
    )
    assert cpu.points[0].values == (10,)


def series_of(tmp_path: Path, text: str, *wanted: str):
    path = tmp_path / "series"
    path.write_text(text)
    return read_series([str(path)], wanted, None)


def test_tables_need_few_columns(tmp_path):
    (plain,) = series_of(tmp_path, "1.5\n2.5\n")
    assert [(p.label, p.values) for p in plain.points] == [("1", (1.5,)), ("2", (2.5,))]
    wide = series_of(tmp_path, "sha;latency;throughput\na;1;5\na;2;6\nb;3;7\n")
    assert [(s.name, s.metric.higher_is_better) for s in wide] == [
        ("latency", False),
        ("throughput", True),
    ]
    assert wide[0].points[0].values == (1, 2)
    rows = '{"commit": "a", "value": [1, 2]}\n{"commit": "b", "value": 3}\n'
    (lines,) = series_of(tmp_path, rows)
    assert [point.values for point in lines.points] == [(1, 2), (3,)]
    (chosen,) = series_of(tmp_path, "sha,x,y\na,1,2\n", "y")
    assert chosen.name == "y"
    (counted,) = series_of(tmp_path, "sha,binary size\na,7\nb,7\nc,8\nd,8\n")
    assert counted.metric.noise is NoiseClass.EXACT


@pytest.mark.parametrize(
    "text",
    [
        "window.BENCHMARK_DATA = fetch('/')",
        '{"commit": "a"\n',
        "[" * 100_000,
        '{"benchmarks": 3}',
        '["a"]',
        "root:x:0:0:root:/root:/bin/sh\n",
        "cpu,host=a v=1 1\ncpu,host=a\n",
        '{"commit": "a", "value": ' + "9" * 5000 + "}",
        "",
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(tmp_path, capsys, text):
    path = tmp_path / "bad.json"
    path.write_text(text)
    assert main([str(path)]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("bench-judge: ")
    assert len(said) < 500


def test_odd_members_are_passed_over(tmp_path):
    with pytest.raises(UsageError):
        series_of(
            tmp_path,
            '{"entries": {"a": [1, {"benches": [null, {"value": "x"}]}]}, "lastUpdate": 0}',
        )
    (one,) = series_of(tmp_path, "commit,value\na,nan\nb,inf\nc,1e999\nd,2\n")
    assert [point.label for point in one.points] == ["d"]


def test_the_page_holds_a_plot_and_escapes_names(tmp_path, capsys):
    rows = table(0.08).replace("unit", "unit,series").replace("ms\n", "ms,<script>x\n")
    path, page = tmp_path / "times.csv", tmp_path / "page.html"
    path.write_text(rows)
    assert main([str(path), "--html", str(page)]) == 0
    text = page.read_text()
    assert "data:image/png;base64," in text
    assert "regression +8" in text
    assert "<script" not in text
    assert main([str(path), "--html", str(tmp_path / "no" / "page.html")]) == 2


def test_standard_input_and_the_newest(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(table(0.08).encode())))
    status, told = judged(capsys, "--last", "15")
    assert (status, told["series"][0]["revisions"]) == (1, 15)
    assert main(["--follow"]) == 2


def test_a_file_that_grows_is_followed_until_it_fails(tmp_path, capsys):
    path = tmp_path / "times.csv"
    lines = table(0.08).splitlines(keepends=True)
    path.write_text("".join(lines[:30]))

    def grow() -> None:
        time.sleep(1.0)
        path.write_text("".join(lines))

    growing = threading.Thread(target=grow)
    growing.start()
    status = main([str(path), "--follow", "--poll", "1s", "--fail-on", "regression"])
    growing.join()
    out = capsys.readouterr().out
    assert status == 1
    assert out.index("no change") < out.index("value: regression +8")


def test_help_needs_no_numpy():
    code = (
        "import sys; from buildbot_bench.cli.judge import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: print('numpy' in sys.modules, 'jinja2' in sys.modules)"
    )
    done = ran([sys.executable, "-c", code], check=True)
    assert done.stdout.splitlines()[-1] == "False False"
