"""Configuration sets on the DUT: put on whole, taken off before the next workload, and no more."""

import stat
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.lab.files import sha256
from buildbot_bench.lab.hardware.config_set import Configurator, Ledger, LyingSet
from buildbot_bench.lab.hardware.remote import Switchboard
from buildbot_bench.lab.hardware.settings import ReferenceSettings, WorkloadSettings
from tests.fakes.lab_host.machines import Host

PING = (("ping", "-c", "2", "198.19.0.203"),)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def write(directory: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory


def install(bench, **changes) -> None:
    """One installation of a kernel with the workload's configuration set."""
    kernel = bench.kernel()
    driver = bench.driver(**changes)
    driver.install(kernel, sha256(kernel))
    driver.shutdown()


def test_directories_keep_their_modes_whatever_umask_the_set_was_made_under(bench):
    """tar(1) gives a directory the mode of the archive's member, as root at least."""
    files = {"etc/rc.conf": "x", "etc/rc.conf.d/pf": "y", "usr/local/etc/new/a": "z"}
    configs = write(bench.root / "configs", files)
    (configs / "var/empty.new").mkdir(parents=True)
    for directory in (configs, *(path for path in configs.rglob("*") if path.is_dir())):
        directory.chmod(0o700)
    root = bench.dut.directory
    (root / "etc/rc.conf.d").mkdir()
    (root / "etc").chmod(0o755)
    (root / "etc/rc.conf.d").chmod(0o750)
    before = mode(root)
    install(bench, workloads={"forwarding": WorkloadSettings(ready=PING, configs=configs)})
    assert mode(root) == before
    assert (mode(root / "etc"), mode(root / "etc/rc.conf.d")) == (0o755, 0o750)
    assert (root / "etc/rc.conf.d/pf").read_text() == "y"
    # What was not there is made as any other directory is.
    assert {mode(root / name) for name in ("usr", "usr/local/etc/new", "var/empty.new")} == {0o755}


def sets(bench, **named: dict[str, str]) -> dict[str, WorkloadSettings]:
    """Workloads with a configuration set each; `forwarding` has none."""
    workloads = {
        name: WorkloadSettings(ready=PING, configs=write(bench.root / "sets" / name, files))
        for name, files in named.items()
    }
    return {"forwarding": WorkloadSettings(ready=PING)} | workloads


def run(bench, workload: str, workloads: dict[str, WorkloadSettings], **changes) -> None:
    """A job's installation for a workload."""
    kernel = bench.kernel()
    driver = bench.driver(workloads=workloads, **changes)
    driver.prepare(workload)
    try:
        driver.install(kernel, sha256(kernel))
    finally:
        driver.shutdown()


def there(bench) -> dict[str, str]:
    """All files below etc/ and boot/ but kernels and records."""
    root = bench.dut.directory
    return {
        str(path.relative_to(root)): path.read_text()
        for place in ("etc", "boot", "usr")
        for path in sorted((root / place).rglob("*"))
        if path.is_file() and path.name != "kernel" and "/bench-set" not in str(path)
    }


OWN = {"etc/rc.conf": "its own", "etc/sysctl.conf": "its own"}
PF = {"etc/rc.conf": "pf_enable", "etc/pf.conf": "pass", "boot/loader.conf.local": "pf_load"}
IPFW = {"etc/rc.conf": "firewall_enable", "etc/ipfw.rules": "allow", "usr/local/new": "x"}


def test_a_workload_runs_on_its_own_settings_and_not_on_the_last_ones(bench):
    write(bench.dut.directory, OWN)
    (bench.dut.directory / "etc/rc.conf").chmod(0o640)
    workloads = sets(bench, pf=PF, ipfw=IPFW)
    run(bench, "pf", workloads)
    assert there(bench) == OWN | PF
    run(bench, "ipfw", workloads)
    assert there(bench) == OWN | IPFW
    run(bench, "forwarding", workloads)
    assert there(bench) == OWN
    assert mode(bench.dut.directory / "etc/rc.conf") == 0o640
    assert not list(bench.dut.directory.rglob("bench-set*"))


def test_the_same_set_may_be_put_on_again_and_again(bench):
    write(bench.dut.directory, OWN)
    workloads = sets(bench, pf=PF)
    for _ in range(3):
        run(bench, "pf", workloads)
        assert there(bench) == OWN | PF
    run(bench, "forwarding", workloads)
    assert there(bench) == OWN


@pytest.mark.parametrize("calls", range(1, 5))
def test_a_job_that_dies_between_any_two_steps_leaves_nothing_to_the_next(bench, calls):
    """The DUT's sh is gone after so many scripts, as if its power were."""
    write(bench.dut.directory, OWN)
    workloads = sets(bench, pf=PF, ipfw=IPFW)
    run(bench, "pf", workloads)
    (bench.dut.directory / "script/sh-dies-after").write_text(str(calls))
    with suppress(InfraError):
        run(bench, "ipfw", workloads)
    (bench.dut.directory / "script/sh-dies-after").unlink()
    run(bench, "forwarding", workloads)
    assert there(bench) == OWN


def test_a_set_that_is_cut_off_is_taken_off_by_the_next_job(bench):
    write(bench.dut.directory, OWN)
    workloads = sets(bench, pf=PF)
    run(bench, "forwarding", workloads)  # the kernel is there by now
    (bench.dut.directory / "script/tar-breaks-off").touch()
    with pytest.raises(InfraError, match="Write error"):
        run(bench, "pf", workloads)
    (bench.dut.directory / "script/tar-breaks-off").unlink()
    assert there(bench) != OWN
    run(bench, "forwarding", workloads)
    assert there(bench) == OWN


def test_a_file_in_the_place_of_a_directory_is_refused_before_anything_changes(bench):
    write(bench.dut.directory, {"etc/pf.conf/x": "y"})
    with pytest.raises(InfraError, match=r"\./etc/pf\.conf is a directory there"):
        run(bench, "pf", sets(bench, pf=PF))
    assert there(bench) == {"etc/pf.conf/x": "y"}


def test_links_are_put_on_and_taken_off_as_links(bench):
    write(bench.dut.directory, {"etc/localtime.there": "UTC"})
    (bench.dut.directory / "etc/localtime").symlink_to("localtime.there")
    workloads = sets(bench, pf=PF)
    assert workloads["pf"].configs is not None
    (workloads["pf"].configs / "etc/localtime").symlink_to("/usr/share/zoneinfo/CET")
    run(bench, "pf", workloads)
    assert (bench.dut.directory / "etc/localtime").readlink() == Path("/usr/share/zoneinfo/CET")
    run(bench, "forwarding", workloads)
    assert (bench.dut.directory / "etc/localtime").readlink() == Path("localtime.there")


def test_what_was_replaced_is_kept_where_only_root_reads_it(bench):
    run(bench, "pf", sets(bench, pf=PF))
    assert mode(bench.dut.directory / "boot/bench-set") == 0o700


def test_on_nanobsd_both_ways_are_saved(bench):
    write(bench.dut.directory, OWN)
    workloads = sets(bench, pf=PF)
    dut = replace(bench.settings().dut, nanobsd=True, save_config=("config", "to", "flash"))
    for workload, saves in (("pf", 1), ("forwarding", 2)):
        run(bench, workload, workloads, dut=dut)
        calls = [call for call in bench.dut.calls() if call.startswith(("mount", "config"))]
        assert calls.count("config to flash") == saves
        assert calls.count("mount -uw /") == calls.count("mount -ur /")
    assert there(bench) == OWN


def test_nanobsd_is_not_taken_for_bsdrp(bench):
    """`config save` is BSDRP's: elsewhere config(8) is a program that configures kernels."""
    driver = bench.driver(
        workloads=sets(bench, pf=PF), dut=replace(bench.settings().dut, nanobsd=True)
    )
    with pytest.raises(UsageError, match=r"dut\.save_config: missing; .*bsdrp = true on BSDRP"):
        driver.prepare("pf")
    [finding] = [one for one in driver.check() if one.subject == "dut.save_config"]
    assert finding.remedy


def reference_of(bench) -> Host:
    """A machine that sets are put on, and that comes up again when it is asked to."""
    reference = Host(bench.network, "reference", {})
    (reference.directory / "run/boottime").write_text("1700000000\n")
    reference.start_sshd()
    bench.hosts.append(reference)
    return reference


@pytest.mark.parametrize("part", ["reference", "refendpoint"])
def test_the_reference_endpoint_gets_its_part_by_either_name(bench, part):
    reference = reference_of(bench)
    files = {"dut/etc/rc.conf": "ours", f"{part}/etc/rc.conf": "theirs"}
    settings = replace(
        bench.settings(),
        workloads=sets(bench, vpn=files),
        reference=ReferenceSettings(address="reference", root=str(reference.directory)),
    )
    switchboard = Switchboard(settings)
    ledger = Ledger(bench.root / "sets.json")
    configurator = Configurator(settings=settings, reach=switchboard.reach, ledger=ledger)
    assert configurator.configure("vpn", bench.root / "scratch")
    assert there(bench) == {"etc/rc.conf": "ours"}
    assert (reference.directory / "etc/rc.conf").read_text() == "theirs"
    assert set(ledger.lying()) == {"dut", "reference"}
    # What it was given is taken off even when the testbed has no reference endpoint any more.
    alone = replace(settings, reference=None)
    Configurator(settings=alone, reach=switchboard.reach, ledger=ledger).configure(
        "forwarding", bench.root / "scratch"
    )
    assert there(bench) == {}
    assert not (reference.directory / "etc/rc.conf").exists()
    assert ledger.lying() == {}
    switchboard.close()


def test_a_set_on_a_machine_that_is_gone_is_named_with_what_to_do(bench):
    lying = LyingSet(workload="vpn", root="/", record="boot/bench-set")
    Ledger(bench.root / "home/sets.json").note("gone", lying)
    with pytest.raises(
        InfraError, match=r"set of vpn still lies on gone.*remove gone from"
    ) as error:
        run(bench, "forwarding", sets(bench))
    assert "\n" not in str(error.value)
    driver = bench.driver()
    assert "that of vpn lies on gone" in {one.detail for one in driver.check()}


@pytest.mark.parametrize("text", ["", "[]", '{"dut": {"x": 1}}', '{"dut": 3}', "\xff"])
def test_a_broken_list_of_what_lies_where_is_none(tmp_path, text):
    """The machines' own records are what sets are taken off by."""
    (tmp_path / "sets.json").write_bytes(text.encode("latin-1"))
    ledger = Ledger(tmp_path / "sets.json")
    assert ledger.lying() == {}
    ledger.note(
        "dut", lying := LyingSet(workload="pf", root="/", record="r", saving=("config", "save"))
    )
    assert ledger.lying() == {"dut": lying}


@pytest.mark.parametrize(
    ("files", "detail"),
    [
        ((), "holds no file"),
        (("dut",), "holds no file"),
        (("dut/etc/rc.conf", "reference/etc/rc.conf"), "has a part for a reference endpoint"),
    ],
)
def test_a_set_that_nothing_can_be_done_with_is_a_gap(bench, tmp_path, files, detail):
    configs = tmp_path / "set"
    configs.mkdir()
    for name in files:
        if name == "dut":
            (configs / name).mkdir()
        else:
            write(configs, {name: "x"})
    driver = bench.driver(workloads={"vpn": WorkloadSettings(ready=PING, configs=configs)})
    with pytest.raises(UsageError, match=rf"workloads\.vpn\.configs: .*set {detail}.*; \w+"):
        driver.prepare("vpn")
