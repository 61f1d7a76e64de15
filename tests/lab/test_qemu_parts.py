"""The parts of the qemu driver that need no QEMU: frames, traces, ELF files, settings."""

import socket
import struct
import threading
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.core.errors import UsageError
from buildbot_bench.lab.drivers.qemu import _build_id_in
from buildbot_bench.lab.tables import load_testbeds
from buildbot_bench.lab.virtual.bursts import (
    FRAME,
    IPV4,
    IPV6,
    PACKETS,
    PREFIX,
    Lost,
    Wires,
    addressed,
)
from buildbot_bench.lab.virtual.machine import _device, last_lines, last_words
from buildbot_bench.lab.virtual.settings import QemuSettings
from buildbot_bench.lab.virtual.trace import Symbols, as_table, by_function, executed, read_symbols

burst, forwarded, ping = IPV4.burst, IPV4.forwarded, IPV4.ping
TRACE = b"""\
Trace 0: 0x7ff9f0149ac0 [0000000000000000/00000000001002c0/000000b0/ff020201]
Trace 0: 0x7ff9f0149b00 [0000000000000000/00000000001002c4/000000b0/ff020201] ip_forward
Stopped execution of TB chain before 0x7ff9f0149b00 [00000000001002c4]
Trace 0: 0x7ff9f0149b00 [0000000000000000/00000000001002c4/000000b0/ff020201] ip_forward
Trace 0: 0x7ff9f0149b40 [0000000000000000/0000000000100300/000000b0/ff020201]
cpu_io_recompile: rewound execution of TB to 0000000000100300
Trace 0: 0x7ff9f0149b80 [0000000000000000/0000000000100300/000000b0/ff028001]
something else
"""


def routed(sent: bytes) -> bytes:
    """What a router makes of frames: the time to live one less, the checksum by RFC 1071."""
    size, out = PREFIX + FRAME, b""
    for start in range(0, len(sent), size):
        frame = bytearray(sent[start : start + size])
        ip = PREFIX + 14
        frame[ip + 8] -= 1
        frame[ip + 10 : ip + 12] = b"\0\0"
        total = sum(struct.unpack("!10H", frame[ip : ip + 20]))
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        frame[ip + 10 : ip + 12] = struct.pack("!H", ~total & 0xFFFF)
        out += bytes(frame)
    return out


def test_what_a_router_sends_on_is_known_and_anything_else_is_told():
    answer = routed(burst())
    assert forwarded(answer) == ""
    assert "packet 1 of a burst came out as" in forwarded(burst())
    damaged = answer[:-1] + b"\1"
    assert f"packet {PACKETS} of a burst" in forwarded(damaged)


def test_frames_are_the_smallest_and_their_checksums_are_right():
    assert len(ping()) == PREFIX + FRAME
    assert burst()[: len(ping())] == ping()
    header = burst()[PREFIX + 14 : PREFIX + 34]
    assert sum(struct.unpack("!10H", header)) % 0xFFFF == 0


@pytest.mark.parametrize("traffic", [IPV4, IPV6])
def test_each_kind_of_traffic_is_known_when_it_comes_out(traffic):
    burst = traffic.burst()
    size = PREFIX + traffic.frame
    assert len(burst) == PACKETS * size
    hops = PREFIX + 14 + (8 if traffic is IPV4 else 7)
    assert burst[hops] == 64
    answer = routed(burst) if traffic is IPV4 else bytearray(burst)
    for start in range(0, len(burst), size) if traffic is IPV6 else ():
        answer[start + hops] -= 1
    assert traffic.forwarded(bytes(answer)) == ""
    assert "packet 1 of a burst came out as" in traffic.forwarded(burst)
    assert traffic.ping() == burst[:size]


def test_packets_of_ipv6_have_a_checksum_over_their_addresses():
    packet = IPV6.ping()[PREFIX + 14 :]
    version, length, header, hops = struct.unpack_from("!IHBB", packet)
    assert (version >> 28, length, header, hops) == (6, len(packet) - 40, 17, 64)
    pseudo = packet[8:40] + struct.pack("!II", length, 17) + packet[40:]
    assert sum(struct.unpack(f"!{len(pseudo) // 2}H", pseudo)) % 0xFFFF == 0


def to_everybody(length=46):
    """A frame that a kernel sends on its own account."""
    return struct.pack("!I", 14 + length) + b"\xff" * 6 + bytes(8 + length)


def test_frames_to_everybody_are_told_from_the_traffic():
    one, other = burst()[:64], burst()[64:128]
    taken = to_everybody() + one + to_everybody(80) + other + to_everybody(28)
    assert addressed(taken) == (one + other, b"")
    for cut in range(1, 64):
        assert addressed(one + other[:cut]) == (one, other[:cut])
    assert addressed(b"") == (b"", b"")


@pytest.fixture
def stall_s():
    return 20.0


@pytest.fixture
def wires(stall_s):
    (sender, inside), (outside, receiver) = socket.socketpair(), socket.socketpair()
    yield Wires(sender, receiver, stall_s=stall_s), inside, outside
    for end in (sender, inside, outside, receiver):
        end.close()


def answer_with(inside, outside, answer):
    thread = threading.Thread(target=lambda: outside.sendall(answer(inside.recv(1 << 20))))
    thread.start()
    return thread


def test_a_burst_that_comes_back_takes_some_time(wires):
    ours, inside, outside = wires
    thread = answer_with(inside, outside, routed)
    assert 0 < ours.send_burst() < 20
    thread.join()


@pytest.mark.parametrize("stall_s", [0.2])
def test_packets_that_stay_away_are_counted(wires):
    ours, inside, outside = wires
    thread = answer_with(inside, outside, lambda sent: routed(sent)[: -2 * (PREFIX + FRAME)])
    with pytest.raises(Lost, match=r"62 of 64 packets came back within 0\.2 s"):
        ours.send_burst()
    thread.join()


@pytest.mark.parametrize("place", [0, 64, 640, 64 * 63, 64 * 64])
@pytest.mark.parametrize("length", [46, 28, 100])
def test_what_a_kernel_says_to_everybody_is_no_answer_and_no_loss(wires, place, length):
    ours, inside, outside = wires
    for disturbed in (True, False, True):
        spoken = to_everybody(length) if disturbed else b""
        thread = answer_with(
            inside,
            outside,
            lambda sent, spoken=spoken: routed(sent)[:place] + spoken + routed(sent)[place:],
        )
        ours.send_burst()
        thread.join()
    ours.settle()
    outside.sendall(to_everybody(length))
    assert not ours.answers()
    outside.sendall(routed(ping()))
    assert ours.answers()


def test_a_wire_that_is_cut_is_a_loss_and_no_answer(wires):
    ours, inside, outside = wires
    inside.close()
    outside.close()
    assert not ours.answers()
    with pytest.raises(Lost, match="0 of 64"):
        ours.send_burst()


def test_each_instruction_that_ran_is_counted_once():
    assert executed(TRACE.splitlines()) == Counter({0x1002C0: 1, 0x1002C4: 1, 0x100300: 1})


def test_instructions_are_counted_by_function():
    symbols = Symbols(addresses=(0x1002C0, 0x100300), names=("ip_forward", "memcpy"))
    profile = by_function(executed(TRACE.splitlines()), 2, symbols)
    assert [(s.leaf, s.samples) for s in profile.stacks] == [("ip_forward", 2), ("memcpy", 1)]
    assert as_table(profile).splitlines()[1:] == ["      1.00  ip_forward", "      0.50  memcpy"]
    assert profile.merged().packets == 2
    assert symbols.name_at(0x1000) == "?"


@pytest.mark.parametrize("start", [b"", b"\x7fELF\x01\x01", b"\x7fELF\x02\x01"])
@given(rest=st.binary(max_size=400))
def test_a_damaged_kernel_file_says_nothing_and_breaks_nothing(start, rest, tmp_path_factory):
    path: Path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(start + rest)
    read_symbols(path)


def test_a_program_of_this_machine_has_its_functions(tmp_path):
    import subprocess

    source = tmp_path / "main.c"
    source.write_text("int square(int n) { return n * n; }\nint main(void) { return square(0); }")
    program = tmp_path / "program"
    subprocess.run(
        ["cc", "-O0", "-Wl,--build-id=sha1", "-o", str(program), str(source)], check=True
    )
    found = read_symbols(program)
    assert {"square", "main"} <= set(found.names)
    assert list(found.addresses) == sorted(found.addresses)
    assert len(found.build_id) == 40


def test_a_console_tells_the_build_and_the_last_words():
    said = "release 1\r\nbuild-id: 0123456789abcdef\r\nforwarding\r\n"
    assert _build_id_in(said) == "0123456789abcdef"
    assert last_words(said) == "its last words: forwarding"
    assert last_words("a\npanic: no mbufs\nuptime: 1s\n") == "panic: no mbufs"
    assert last_words(" \n") == "its console stayed silent"
    assert _build_id_in("kern.build_id: 0123456789abcdef\r\n") == "0123456789abcdef"
    assert last_lines("a\n\nb \r\nc\nd\ne\nf\n") == "b | c | d | e | f"
    assert last_lines("") == "nothing"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('metric = "furlongs"', "metric is 'furlongs'"),
        ('accelerator = "warp"', "accelerator is 'warp'"),
        ('metric = "instructions/packet"\naccelerator = "auto"', "translator alone"),
        ("bursts = 0", "must be above zero"),
        ("traced_bursts = 0", "must be above zero"),
        ("burst = 5", "unknown key 'burst'"),
        ('system = "plan9"', "system is 'plan9'"),
        ('nic = "ne2000"', "nic is 'ne2000'; it may be em or vtnet"),
        ('kenv = ["kern.hz=10"]', 'kenv is FreeBSD\'s; system = "freebsd"'),
        ('system = "freebsd"\nkenv = ["kern.hz"]', "kenv: 'kern.hz'; write NAME=VALUE"),
        ('system = "freebsd"\nkenv = ["a=b\\u0000c"]', "write NAME=VALUE"),
        ('system = "freebsd"\nsysctls = ["a=b\\nreboot"]', "write NAME=VALUE"),
        ('system = "freebsd"\nmodules = ["../x"]', "modules: '../x'; write a module's name"),
        ('system = "freebsd"\nmemory_mib = 64', "memory_mib is 64; give it 128 or more"),
        ('metric = "instructions/packet"\nicount = "7"', "icount is '7'"),
    ],
)
def test_a_testbed_that_cannot_be_is_refused(line, complaint, tmp_path):
    path = tmp_path / "testbeds.toml"
    path.write_text(f'[testbeds.vm]\ndriver = "qemu"\n{line}\n')
    with pytest.raises(UsageError, match=complaint):
        load_testbeds(path)


def test_what_is_not_said_is_as_the_system_needs_it():
    toy, freebsd = QemuSettings(), QemuSettings(system="freebsd")
    assert (toy.ram_mib, toy.boot_limit_s, toy.clock) == (64, 15.0, "shift=0,sleep=off")
    assert (freebsd.ram_mib, freebsd.boot_limit_s, freebsd.clock) == (256, 90.0, "shift=2,sleep=on")
    assert (toy.counted, freebsd.counted) == (4, None)
    assert QemuSettings(system="freebsd", traced_bursts=16).counted == 16
    said = QemuSettings(
        system="freebsd", memory_mib=512, boot_timeout_s=7.0, icount="shift=5,sleep=on"
    )
    assert (said.ram_mib, said.boot_limit_s, said.clock) == (512, 7.0, "shift=5,sleep=on")


def test_a_port_whose_packets_are_counted_sends_by_the_guests_clock():
    quick = QemuSettings(system="freebsd", nic="vtnet")
    exact = QemuSettings(system="freebsd", nic="vtnet", metric="instructions/packet")
    assert "tx=timer" not in _device(quick)
    assert _device(exact) == f"{_device(quick)},ioeventfd=off,tx=timer"
    assert _device(QemuSettings()) == _device(QemuSettings(metric="instructions/packet"))
