"""What a FreeBSD under test is told to do, and what its console says of that."""

import ipaddress

import pytest

from buildbot_bench.lab.virtual import freebsd_system
from buildbot_bench.lab.virtual.freebsd_system import FreeBSD
from buildbot_bench.lab.virtual.settings import FREEBSD, QemuSettings, workloads_of
from buildbot_bench.lab.virtual.system import BootImage

WORKLOADS = workloads_of(FREEBSD)
OF_FREEBSD = b"\x7fELF\x02\x01\x01\x09"  # 64 bits, little-endian, and EI_OSABI, which 15 looks at


def lines(workload, nic="em", settings=()):
    return [
        line.split()
        for line in freebsd_system.commands(WORKLOADS[workload], nic, settings).splitlines()
    ]


def told(workload, command):
    """The arguments of each such command."""
    return [arguments for name, *arguments in lines(workload) if name == command]


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_traffic_s_way_is_laid(workload):
    """By the longest prefix, packets go through the second port to a neighbour that is known."""
    traffic = WORKLOADS[workload].traffic
    frame = traffic.ping()[4:]
    size = 4 if frame[12:14] == b"\x08\x00" else 16
    at = 14 + (12 if size == 4 else 8)
    source, destination = (
        ipaddress.ip_address(frame[at : at + size]),
        ipaddress.ip_address(frame[at + size : at + 2 * size]),
    )
    own = {
        port: ipaddress.ip_interface((bytes.fromhex(address), int(prefix)))
        for port, address, prefix in told(workload, "address")
    }
    assert source in own["em0"].network
    assert destination not in own["em1"].network
    ((network, prefix, gateway),) = told(workload, "route")
    assert destination in ipaddress.ip_network((bytes.fromhex(network), int(prefix)))
    ((port, neighbour, ethernet),) = told(workload, "neighbour")
    assert (port, neighbour) == ("em1", gateway)
    assert ipaddress.ip_address(bytes.fromhex(gateway)) in own["em1"].network
    assert bytes.fromhex(gateway) != own["em1"].ip.packed
    assert ethernet == "525400000101"
    assert told(workload, "up") == told(workload, "link") == [["em0"], ["em1"]]


def test_settings_come_last_and_before_it_is_ready():
    *_, setting, _, last = lines("forwarding", "vtnet", ("net.inet.ip.redirect=0",))
    assert setting == ["sysctl", "net.inet.ip.redirect=0"]
    assert last == ["say", "bench:", "ready"]
    assert ["up", "vtnet1"] in lines("forwarding", "vtnet")


def test_no_firewall_looks_at_what_is_only_forwarded():
    assert ["-sysctl", "net.inet.ip.fw.enable=0"] in lines("forwarding")


def test_a_console_says_when_it_is_ready():
    assert freebsd_system.is_ready("kern.build_id: 0123\r\nbench: ready\r\n")
    assert not freebsd_system.is_ready("em0: link state changed to UP\r\n")


@pytest.mark.parametrize(
    ("console", "fault"),
    [
        (
            "a\nerror: 6: address em0 c6120001 16\n",
            "could not do `address em0 c6120001 16` (there is no such i",
        ),
        (
            "error: 2: sysctl net.foo=1\r\n",
            "could not do `sysctl net.foo=1` (there is no such name)",
        ),
        ("error: 1: sysctl hw.foo=1\r\n", "`sysctl hw.foo=1` (that is not permitted"),
        ("error: 99: up em0\r\n", "could not do `up em0` (errno 99 of FreeBSD)"),
        ("error: 19: pf\n", "could not do `pf` (its interface is another one than FreeBSD 13's"),
        ("error: 2: pf\n", "could not do `pf` (neither kernel nor artefact have that firewall)"),
        ("error: 42: ipfw\r\n", "`ipfw` (neither kernel nor artefact have that firewall)"),
        ("Trying to mount root\n\nmountroot> ", "finds no root: it lacks `device md`"),
        ("KLD if_em.ko: depends on iflib - not available or", "a module: KLD if_em.ko: depends on"),
        ("x\nKLD file a.ko - could not finalize loading\n", "a module: KLD file a.ko - could not"),
        ("bench: ready\n", ""),
        ("an error: 6: of another kind\n", ""),
    ],
)
def test_what_will_never_be_well_is_known_from_the_console(console, fault):
    assert fault in freebsd_system.fault(console)
    assert bool(freebsd_system.fault(console)) == bool(fault)


def environment(home):
    texts = (home / "boot" / "kenv").read_bytes().split(b"\0")
    assert texts[-2:] == [b"", b""]
    return dict(text.decode().split("=", 1) for text in texts[:-2])


def test_tunables_go_before_the_testbed_s_kenv_and_that_before_our_own(tmp_path):
    settings = QemuSettings(
        system="freebsd",
        kenv=("kern.hz=10", "a.b=c=d e", "vfs.mountroot.timeout=5"),
        modules=("if_em",),
    )
    kernel = tmp_path / "boot" / "tried" / "kernel"
    kernel.parent.mkdir(parents=True)
    modules = {name: kernel.with_name(f"{name}.ko") for name in ("if_em", "pf", "ipfw")}
    image = BootImage(kernel=kernel, digest="", modules=modules)
    system = FreeBSD(settings, tmp_path)
    arguments = system.arguments(image, "forwarding", ("kern.hz=1000", "net.inet.ip.ttl=7"))
    kenv = environment(tmp_path)
    assert (kenv["kern.hz"], kenv["net.inet.ip.ttl"], kenv["a.b"]) == ("1000", "7", "c=d e")
    assert (kenv["vfs.mountroot.timeout"], kenv["console"]) == ("5", "comconsole")
    assert arguments[:3:2] == ["-kernel", "-initrd"]
    assert arguments[3].split(",") == [
        "../boot/tried/kernel kernel /boot/kernel/kernel",
        "../boot/tried/if_em.ko module /boot/kernel/if_em.ko",
        "../boot/root image /root",
        "../boot/kenv kenv ",
    ]
    root = (tmp_path / "boot" / "root").read_bytes()
    assert b"sysctl net.inet.ip.ttl=7\n" in root
    assert root.count(OF_FREEBSD) == root.count(b"\x7fELF") == 1
    assert "pf.ko" in system.arguments(image, "pf-statefull", ())[3]
