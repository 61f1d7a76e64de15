"""What the init of a FreeBSD under test asks its kernel for: structures, by their own layouts."""

import platform
import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

import buildbot_bench.lab.virtual as package
from buildbot_bench.lab.virtual.freebsd_system import commands
from buildbot_bench.lab.virtual.settings import FREEBSD, workloads_of
from tests.running import ran

WORKLOADS = workloads_of(FREEBSD)
SOURCES = [Path(package.__file__).parent / part for part in ("init", "freestanding")]
KERNEL = Path(__file__).parents[1] / "fakes" / "freebsd_syscalls.c"


@dataclass
class Said:
    """What init printed, and what it asked for: (name, number, bytes)."""

    console: str
    asked: list[tuple[str, int, bytes]]


@pytest.fixture(scope="module")
def init(tmp_path_factory):
    """Init as a program of this machine, with another kernel beneath it."""
    if shutil.which("cc") is None or platform.machine() not in ("x86_64", "amd64"):
        pytest.skip("there is no C compiler for amd64")
    program = tmp_path_factory.mktemp("init") / "init"
    flags = ["-std=gnu11", "-fno-builtin", "-Wall", "-Wextra", "-o", str(program)]
    sources = [str(path) for part in SOURCES for path in sorted(part.glob("*.c"))]
    subprocess.run(["cc", *flags, *sources, str(KERNEL)], check=True)

    def run(script: str, console: str = "") -> Said:
        path = program.parent / "commands"
        path.write_text(script)
        done = ran([program], input=console, env={"COMMANDS": str(path)}, check=True)
        words = [line.split(" ") for line in done.stderr.splitlines()]
        asked = [(name, int(number, 16), bytes.fromhex(data)) for name, number, data in words]
        return Said(done.stdout, asked)

    return run


def sockaddr_in(address: str) -> bytes:
    return bytes([16, 2, 0, 0]) + bytes.fromhex(address) + bytes(8)


def sockaddr_in6(address: str) -> bytes:
    return bytes([28, 28, 0, 0]) + bytes(4) + bytes.fromhex(address) + bytes(4)


def test_an_address_of_ipv4_is_an_ifaliasreq(init):
    (asked,) = init("address em0 c612fffe 20\n").asked
    name, request, data = asked
    assert (name, request) == ("ioctl", 0x8044692B)
    wanted = b"em0".ljust(16, b"\0") + sockaddr_in("c612fffe") + bytes(16)
    assert data == wanted + sockaddr_in("fffff000") + bytes(4)


def test_an_address_of_ipv6_is_an_in6_aliasreq(init):
    address = "20010002000000180000000000000001"
    (asked,) = init(f"address em1 {address} 64\n").asked
    name, request, data = asked
    assert (name, request) == ("ioctl", 0x8088691B)
    mask = sockaddr_in6("ff" * 8 + "00" * 8)
    wanted = b"em1".ljust(16, b"\0") + sockaddr_in6(address) + bytes(28) + mask
    wanted += struct.pack("<iqqIIi", 0x20, 0, 0, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    assert data[: len(wanted)] == wanted
    assert len(data) == 136


def test_a_route_is_a_message_with_three_addresses(init):
    (asked,) = init("route c6130000 16 c613ff01\n").asked
    name, _, data = asked
    assert name == "write"
    length, version, kind, _, _, flags, addresses = struct.unpack_from("<HBBHHii", data)
    assert (length, version, kind) == (len(data), 5, 1)
    assert (flags, addresses) == (0x803, 7)  # up, a gateway, static; destination, gateway, mask
    wanted = [sockaddr_in(text) for text in ("c6130000", "c613ff01", "ffff0000")]
    assert data[152:] == b"".join(wanted)


def test_a_neighbour_is_a_message_with_a_link_s_address(init):
    asked = init("neighbour em1 c613ff01 525400000101\n").asked
    assert asked[0][:2] == ("ioctl", 0xC0206920)
    name, _, data = asked[1]
    flags, addresses = struct.unpack_from("<ii", data, 8)
    assert (name, flags, addresses) == ("write", 0xC04, 3)  # a host's link data, static
    assert data[152:168] == sockaddr_in("c613ff01")
    length, family, index, kind, *lengths = struct.unpack_from("<BBHBBBB", data, 168)
    assert (length, family, index, kind, lengths) == (54, 18, 3, 6, [0, 6, 0])
    assert data[176:182] == bytes.fromhex("525400000101")
    assert len(data) == 152 + 16 + 56


def test_a_neighbour_of_ipv6_takes_room_in_eights(init):
    _, (_, _, data) = init(f"neighbour em1 {'20' * 16} 525400000101\n").asked
    assert data[152:180] == sockaddr_in6("20" * 16)
    assert data[184:186] == bytes([54, 18])


def test_an_interface_that_is_up_keeps_its_other_flags(init):
    get, set_ = init("up em0\n").asked
    assert (get[1], set_[1]) == (0xC0206911, 0x80206910)
    assert set_[2][16:18] == b"\1\0"


def test_a_link_is_awaited_but_not_for_ever(init):
    said = init("link em1\nsay on\n")
    assert [request for _, request, _ in said.asked] == [0xC0306938] * 3
    assert said.console == "on\n"
    assert init("link em2\n").console == "error: 60: link em2\n"


def test_variables_are_shown_as_what_they_are(init):
    names = ("net.inet.ip.forwarding", "kern.build_id", "kern.small", "kern.huge")
    said = init("".join(f"sysctl {name}\n" for name in names))
    assert said.console.splitlines() == [
        "net.inet.ip.forwarding: 0",
        "kern.build_id: 0123",
        "kern.small: -2",
        "kern.huge: 4294967296",
    ]


def test_a_variable_is_set_unless_the_loader_did_that(init):
    said = init("sysctl net.inet.ip.forwarding=1\nsysctl net.inet.ip.forwarding=1\n")
    assert said.asked == [("set", 0, b"\1\0\0\0")]
    assert init("sysctl kern.small=-3\n").asked == [("set", 2, b"\xfd")]
    assert init("sysctl kern.build_id=ab\n").asked == [("set", 1, b"ab")]
    assert init("sysctl kern.build_id=0123\n").asked == []


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("sysctl kern.none", 2),
        ("sysctl kern.none=1", 2),
        ("sysctl kern.small=x", 22),
        ("sysctl kern.opaque=1", 22),
        ("address vtnet0 c6120001 16", 6),
        ("address em0 c612 16", 22),
        ("address em0 c612000x 16", 22),
        ("address em0", 22),
        ("route c6130000 16 " + "20" * 16, 22),
        ("neighbour em0 c6130001 5254", 22),
        ("neighbour em0 c6130001 52540000010102", 22),
        ("up vtnet0", 6),
        ("link vtnet0", 6),
        ("nonsense", 22),
    ],
)
def test_what_cannot_be_done_is_said_with_the_line(init, line, number):
    assert init(f"{line}\nsay on\n").console == f"error: {number}: {line}\non\n"
    assert init(f"-{line}\nsay on\n").console == "on\n"


def test_the_console_is_answered(init):
    said = init("say bench: ready\n", "sysctl kern.build_id\rsysctl kern.none\r\r\nup em0\n")
    assert said.console.splitlines() == [
        "bench: ready",
        *("kern.build_id: 0123", "ok", "error: 2: sysctl kern.none"),
        *("ok", "ok", "ok"),
    ]


def test_a_line_that_is_too_long_is_cut_and_nothing_else_suffers(init):
    said = init(f"say {'x' * 5000}\nsay on\n")
    assert said.console.splitlines() == ["x" * 507, "on"]


def test_a_rule_of_ipfw_is_a_message_of_lists(init):
    ((name, option, data),) = init("ipfw\n").asked
    assert (name, option) == ("getsockopt", 48)
    assert struct.unpack_from("<4H", data) == (98, 0, 0, 0)
    head, names = struct.Struct("<HHIIHBB"), 8
    assert head.unpack_from(data, names) == (2, 0, 96, 1, 80, 0, 0)
    assert struct.unpack_from("<HHIHBBI", data, names + 16) == (14, 0, 80, 1, 0, 0, 0)
    assert data[names + 32 : names + 96] == b"default".ljust(64, b"\0")
    rules = names + 96
    assert head.unpack_from(data, rules)[:4] == (3, 0, len(data) - rules, 1)
    assert struct.unpack_from("<HHHBBII", data, rules + 16) == (2, 3, 0, 0, 0, 100, 0)
    instructions = struct.iter_unpack("<BBH", data[rules + 32 : rules + 44])
    assert list(instructions) == [(38, 1, 1), (39, 1, 1), (45, 1, 0)]


def test_a_rule_of_pf_is_added_with_the_tickets_of_its_change(init):
    begin, pool, add, commit, start = init("pf\n").asked
    requests = [request for _, request, _ in (begin, pool, add, commit, start)]
    assert requests == [0xC0104451, 0xC4704433, 0xCBE04404, 0xC0104452, 0x20004401]
    assert struct.unpack_from("<ii", begin[2]) == struct.unpack_from("<ii", commit[2]) == (1, 1032)
    action, ticket, pool_ticket, number = struct.unpack_from("<4I", add[2])
    assert (action, ticket, pool_ticket, number) == (0, 77, 78, 0)
    rule = add[2][2064:]
    (table,) = struct.unpack_from("<i", rule, 700)
    assert (table, rule[904], rule[912]) == (-1, 0, 1)
    assert sum(rule) == 4 * 255 + 1  # and nothing else


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_workload_s_script_is_all_understood(init, workload):
    said = init(commands(WORKLOADS[workload], "em", ("kern.small=1",)))
    # This kernel lacks a variable that others have.
    failed = [line for line in said.console.splitlines() if line.startswith("error")]
    assert failed == (["error: 2: sysctl net.inet6.ip6.forwarding=1"] if "6" in workload else [])
    assert said.console.endswith("bench: ready\n")
    assert "kern.build_id: 0123" in said.console
