"""bench-import: a lab starts with the past that the archive has of it, on both databases."""

import json
import re
import shutil
from pathlib import Path

import pytest
import sqlalchemy as sa

from buildbot_bench.core.model.learn import learn
from buildbot_bench.history import MirrorHistory, mirror_path
from buildbot_bench.plugin.db.rows import NewCommit
from buildbot_bench.plugin.db.schema import METADATA
from buildbot_bench.plugin.operations.import_command import main
from buildbot_bench.plugin.rest.views import as_csv
from tests.databases import empty_tables
from tests.gitrepo import Commit, add_commits, make_repository
from tests.unpacking import unpack

SVN = (293069, 293643, 300000, 311848, 311849)
WORKFLOW = """
name: Tests
repository: {source}
on: {{push: {{branches: [main]}}}}
testbeds: {{apu2: {{worker: lab}}}}
jobs:
  kernel:
    runs-on: builder
    steps:
      - uses: checkout
      - {{name: Build, run: make}}
      - {{uses: upload-artefact, with: {{path: kernel}}}}
  bench:
    needs: kernel
    runs-on: apu2
    strategy: {{matrix: {{workload: [forwarding, pf-statefull]}}}}
    iterations: 5
"""


@pytest.fixture
def archive(tmp_path, data) -> Path:
    unpack(data / "netbenches" / "firewalls.tar.gz", tmp_path / "past")
    return tmp_path / "past" / "firewalls"


@pytest.fixture
def shas(tmp_path) -> list[str]:
    commits = [Commit(files={"sys/a.c": f"{n}\n"}, subject=f"Change {n}", svn=n) for n in SVN]
    return make_repository(tmp_path / "src", commits)


@pytest.fixture
def bench_import(engine, store, shas, tmp_path, archive):
    """The command on a farm's tables; the farm was started once, so that it knows its tip."""
    workflow = tmp_path / "bench.yml"
    workflow.write_text(WORKFLOW.format(source=tmp_path / "src"))
    MirrorHistory(tmp_path / "master" / "mirror.git", str(tmp_path / "src")).fetch()
    url = engine.url.render_as_string(hide_password=False)

    default = archive

    async def run(*arguments: str, started: bool = True, archive: Path = default) -> int:
        if started:
            tip = NewCommit(sha=shas[-1], position=len(shas), svn=SVN[-1])
            await store.add_commits("main", [tip])
        where = ["--workflow", str(workflow), "--master", str(tmp_path / "master"), "--db", url]
        return main([str(archive), *where, "--testbed", "apu2", *arguments])

    return run


async def samples(store, workload: str = "forwarding", branch: str = "main"):
    return await store.samples(("apu2", workload), (0, 99), branch=branch)


async def test_the_past_is_there_with_its_values_logs_and_noise(bench_import, store, capsys):
    assert await bench_import() == 0
    told = capsys.readouterr().out
    assert "4 groups with 20 iterations kept, 0 known already, 1 left out, 0 refused" in told
    assert "1 kernels did not say which revision they are" in told
    before, after, iflib = await samples(store)
    assert (before.label, before.values) == (
        "r293069",
        (553160.0, 550485.0, 541341.0, 552382.0, 543643.0),
    )
    assert (before.epoch, after.epoch, iflib.epoch) == (
        "fbsd.2016",
        "fbsd.2016",
        "fbsd12-head.iflib",
    )
    # The profiled boot's log is passed over, the archive's own value taken.
    assert sorted(iflib.values) == [621955.0, 622368.5, 624595.5, 625651.0, 628503.5]
    assert learn([before, after]).df_run > learn([]).df_run + 4  # the past has taught it
    (pf,) = await samples(store, "pf-statefull")
    assert len(pf.values) == 5


async def test_logs_and_their_kernels_are_kept_beside_the_values(bench_import, store):
    await bench_import()
    image = await store.image_at("main", 1)
    (forwarding,) = await store.probes_of([image.id], ("apu2", "forwarding"))
    row = (await store.iterations_of_probe(forwarding.id))[0]
    assert "main_thread" in row.log
    assert "r293069" in row.facts["uname"]
    assert row.at_s == pytest.approx(1465223741, abs=1)  # Mon Jun  6 14:35:41 2016


async def test_what_is_imported_twice_is_there_once_wherever_the_archive_lies(
    bench_import, store, archive, capsys
):
    await bench_import()
    moved = archive.rename(archive.with_name("elsewhere"))
    archive.symlink_to(moved)
    assert await bench_import() == 0
    assert "0 groups with 0 iterations kept, 4 known already" in capsys.readouterr().out
    assert [len(sample.values) for sample in await samples(store)] == [5, 5, 5]


async def exported(store, tmp_path) -> Path:
    rows = await store.export(("apu2", "forwarding"), "main", limit=99)
    file = tmp_path / "apu2-forwarding.csv"
    file.write_text(as_csv(rows))
    return file


async def test_what_a_farm_exports_another_imports(bench_import, store, engine, tmp_path, capsys):
    await bench_import()
    before = await samples(store)
    boots = await store.export(("apu2", "forwarding"), "main", limit=99)
    file = await exported(store, tmp_path)
    empty_tables(engine, METADATA)
    assert await bench_import(archive=file) == 0
    assert "3 groups with 15 iterations kept" in capsys.readouterr().out
    assert await store.export(("apu2", "forwarding"), "main", limit=99) == boots
    after = await samples(store)
    assert [sample.values for sample in after] == [sample.values for sample in before]
    assert await bench_import(archive=file) == 0
    assert "0 groups with 0 iterations kept, 3 known already" in capsys.readouterr().out


async def test_further_images_of_an_export_are_images_of_their_own(bench_import, store, tmp_path):
    await bench_import()
    file = await exported(store, tmp_path)
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([lines[0], *(re.sub(r",0,apu2", ",1,apu2", x) for x in lines[1:])]))
    assert await bench_import(archive=file) == 0
    images = await store.images()
    assert sorted(image.ordinal for image in images) == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    "damage",
    [
        ("sha,", "hash,", "there is no column 'sha'"),
        ("553160.0", "many", r"csv:\d+: could not convert string to float: 'many'"),
        ("553160.0", "nan", r"csv:\d+: 'nan' is no number"),
        (",0,apu2", ",zero,apu2", r"csv:2: .* names no image"),
    ],
)
async def test_a_damaged_line_of_an_export_is_told(bench_import, store, tmp_path, capsys, damage):
    old, new, complaint = damage
    await bench_import()
    file = await exported(store, tmp_path)
    file.write_text(file.read_text().replace(old, new, 1))
    assert await bench_import(archive=file) == 3
    assert re.search(f"refused  .*{complaint}", capsys.readouterr().out)


async def test_a_dry_run_keeps_nothing(bench_import, store, capsys):
    assert await bench_import("--dry-run") == 0
    assert "4 groups with 20 iterations would be kept" in capsys.readouterr().out
    assert await samples(store) == []
    assert await store.images() == []


async def test_nothing_is_built_or_measured_because_of_it(bench_import, store):
    await bench_import()
    assert await store.images("wanted") == []
    assert await store.probes("new") == []
    assert await store.unjudged_probes() == []
    unmeasured = await store.unmeasured("main", ("apu2", "pf-statefull"))
    assert [commit.position for commit in unmeasured] == [len(SVN)]


@pytest.mark.parametrize(
    "contradiction",
    [
        ("bench.293069.fastforwarding.info", "r293069", "r293643", "r293643 was booted"),
        ("293069.fastforwarding.pps", "553160", "553161", "the logs give 553160 pps"),
        ("293069.fastforwarding.pps", "553160", "many", "pps:1: 'many' is no number"),
        ("bench.293069.fastforwarding.info", "293069", "299999", "r299999"),
    ],
)
async def test_what_contradicts_itself_is_refused_and_listed(
    bench_import, store, archive, capsys, contradiction
):
    file, old, new, reason = contradiction
    path = archive / "fbsd.2016" / "RAW" / file
    path.write_text(path.read_text().replace(old, new))
    assert await bench_import() == 3
    told = capsys.readouterr().out
    assert "refused  fbsd.2016/RAW/bench.293069.fastforwarding.info: " in told
    assert reason in told
    assert "3 groups with 15 iterations kept" in told
    assert [sample.label for sample in await samples(store)] == ["r293643", "r311848"]


async def test_a_revision_of_another_branch_is_refused_and_forgets_no_commit(
    bench_import, store, shas, archive, tmp_path
):
    path = archive / "fbsd.2016" / "RAW" / "bench.293069.fastforwarding.info"
    path.write_text(path.read_text().replace("293069", "293070"))
    stable = [Commit(files={"sys/b.c": "1"}, svn=293070)]
    add_commits(tmp_path / "src", stable, branch="stable", on=shas[0])
    MirrorHistory(tmp_path / "master" / "mirror.git", str(tmp_path / "src")).fetch()
    assert await bench_import() == 3
    assert "r293070" not in [sample.label for sample in await samples(store)]
    assert (await store.newest_commit("main")).sha == shas[-1]


@pytest.mark.parametrize("right", [True, False])
async def test_a_count_of_commits_names_the_commit_that_was_booted(
    bench_import, store, shas, archive, right
):
    path = archive / "fbsd.2016" / "RAW" / "bench.293069.fastforwarding.info"
    text = 'IMAGE="n00001"\nCFG="forwarding"\nUNAME="FreeBSD apu2 14.0 main-n00001-{}-dirty"\n'
    path.write_text(text.format(shas[0 if right else 1][:12]))
    assert await bench_import() == (0 if right else 3)
    assert ("r293069" in [sample.label for sample in await samples(store)]) is right


async def test_one_epoch_for_all_joins_the_lab_s_own(bench_import, store):
    assert await bench_import("--epoch", "2026") == 0
    assert {sample.epoch for sample in await samples(store)} == {"2026"}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--testbed", "xeon"), "'xeon' is no testbed of this farm; it has apu2"),
        (("--workload", "ipfw=nonsense"), "is not CFG=WORKLOAD"),
        (("--db", "nonsense"), "is no database"),
    ],
)
async def test_a_mistake_is_told_in_one_line(bench_import, capsys, arguments, complaint):
    assert await bench_import(*arguments) == 2
    told = capsys.readouterr().err
    assert complaint in told
    assert told.count("\n") == 1


async def test_a_farm_that_never_ran_is_told_apart(bench_import, engine, capsys):
    assert await bench_import(started=False) == 2
    assert "start the farm once" in capsys.readouterr().err
    with engine.connect() as conn:
        assert conn.execute(sa.text("SELECT count(*) FROM bench_image")).scalar_one() == 0


def fork_too(tmp_path: Path) -> None:
    """A second repository with the same commits, which the farm watches as `fork`."""
    path = tmp_path / "bench.yml"
    both = f"repositories: {{src: {{url: {tmp_path / 'src'}}}, fork: {{url: {tmp_path / 'fork'}}}}}"
    path.write_text(path.read_text().replace(f"repository: {tmp_path / 'src'}", both))
    shutil.copytree(tmp_path / "src", tmp_path / "fork")
    MirrorHistory(mirror_path(tmp_path / "master", "fork"), str(tmp_path / "fork")).fetch()


async def test_the_past_may_be_that_of_another_repository(bench_import, store, tmp_path, capsys):
    fork_too(tmp_path)
    assert await bench_import("--repository", "fork") == 0
    assert await samples(store) == []
    assert [one.label for one in await samples(store, branch="fork:main")] == [
        "r293069",
        "r293643",
        "r311848",
    ]
    assert {image.repository for image in await store.images()} == {"fork"}
    assert await bench_import("--repository", "src") == 0  # the same commits, and not the same past
    assert capsys.readouterr().out.count("4 groups with 20 iterations kept") == 2
    assert len(await samples(store)) == 3
    assert await bench_import("--repository", "fork") == 0
    assert "kept, 4 known already" in capsys.readouterr().out


async def test_a_repository_without_a_mirror_or_of_another_name_is_told(
    bench_import, tmp_path, capsys
):
    assert await bench_import("--repository", "fork") == 2
    assert "this farm has one alone: leave --repository out" in capsys.readouterr().err
    fork_too(tmp_path)
    assert await bench_import("--repository", "ports") == 2
    assert "no repository 'ports'; this farm has src, fork" in capsys.readouterr().err
    shutil.rmtree(mirror_path(tmp_path / "master", "fork"))
    assert await bench_import("--repository", "fork") == 2
    assert "start the farm once" in capsys.readouterr().err


def _written(name: str, text: str) -> Path:
    file = Path(name)
    file.write_text(text)
    return file


@pytest.fixture
def elsewhere(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("form", ["csv", "jsonl"])
async def test_what_bench_judge_reads_is_imported_as_well(bench_import, store, shas, capsys, form):
    values = {shas[1]: (9.1, 9.2), shas[3]: (12.4, 12.5), shas[4]: (12.3,)}
    rows = [(sha, value) for sha, these in values.items() for value in these]
    text = {
        "csv": "commit,name,value,unit\n" + "".join(f"{s},fw/lat,{v},ms\n" for s, v in rows),
        "jsonl": "".join(
            json.dumps({"commit": s, "name": "fw/lat", "value": v, "unit": "ms"}) + "\n"
            for s, v in rows
        ),
    }
    file = _written(f"lat.{form}", text[form])
    assert await bench_import(archive=file) == 0
    assert "0 groups with 0 iterations kept, 0 known already, 3 left out" in capsys.readouterr().out
    assert await bench_import("--workload", "fw/lat=forwarding", archive=file) == 0
    assert "3 groups with 5 iterations kept" in capsys.readouterr().out
    found = await samples(store)
    assert [one.values for one in found] == [*values.values()]
    assert {one.metric.unit for one in found} == {"ms"}
    assert not found[0].metric.higher_is_better
    assert await bench_import("--workload", "fw/lat=forwarding", archive=file) == 0
    assert "0 kept" in capsys.readouterr().out.replace("0 groups with 0 iterations", "0")


async def test_a_file_of_no_known_format_says_what_to_write(bench_import, tmp_path, capsys):
    file = tmp_path / "odd.bin"
    file.write_bytes(bytes(range(256)))
    assert await bench_import(archive=file) == 2
    assert "odd.bin" in capsys.readouterr().err
