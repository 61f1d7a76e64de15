"""A kernel's own digest: the same for whoever builds it, another for whatever it does otherwise."""

import shutil
import struct
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildbot_bench.archives.contents import digest_of_files, neutral_digest, neutralise
from buildbot_bench.core.elf import sections
from tests.core.elf_files import CODE, DEBUG, NOBITS, Part, elf

CLASSIC = (
    b"FreeBSD 12.0-CURRENT #%d r%d=%s(head): Tue Jan 10 05:43:08 UTC 2017\n"
    b"    root@%s:/usr/obj/usr/src/sys/GENERIC-NODEBUG\n"
)
TODAY = b"FreeBSD 15.0-CURRENT main-n%d-%s GENERIC-NODEBUG\n"
SHA = b"4f4e8f2d1b4a" + b"0" * 28
# A fork has a name, a numbering and a short history of its own.
NAMES = (b"Irid 0.0.2-ALPHA", b"MidnightBSD 3.1.0-RELEASE-p2", b"Our-BSD 14.1-STABLE_7")
FORK = b" %s BENCH\n"
FORKED = (
    (b"n2-%s" % SHA[:12], b"n11-0123456789ab-dirty"),
    (b"main-n2-%s" % SHA[:12], b"0123456789ab"),
    (b"#1 %s(master): Tue Jan 10" % SHA[:7], b"#12 feature/x-0123456: Tue Jan 11"),
    (b"#0: Tue Jan 10 05:43:08 UTC 2017\n    root@a:/obj", b"#1: Wed Jan 11\n    b@c:/obj"),
)


def kernel(version: bytes, code: bytes = b"\x90\xc3", data: bytes = b"data", **shape) -> bytes:
    return elf(
        Part(name=".text", content=code, flags=CODE),
        Part(name=".data", content=version.ljust(256, b"\0") + data),
        **shape,
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            CLASSIC % (9, 311848, b"b2f3d0a", b"a.example"),
            CLASSIC % (10, 99999, b"1c", b"b.example.org"),
        ),
        (TODAY % (262112, SHA[:12]), TODAY % (262113, b"0123456789ab")),
        (TODAY % (262112, SHA[:12]), TODAY % (262113, b"0123456789ab-dirty")),
        (b"@(#)" + TODAY % (262112, SHA), b"@(#)" + TODAY % (9, b"0" * 40)),
        *((name + FORK % one, name + FORK % other) for name in NAMES for one, other in FORKED),
        (b"$FreeBSD: head/sys/net/if.c 311848 x $", b"$FreeBSD: head/sys/net/if.c 311849 y $"),
        (b"Linux version 6.1.0 (a@b) #1 SMP", b"Linux version 6.1.0 (root@c) #12 SMP"),
        (b"built Jan 10 2017 05:43:08", b"built Feb  1 2017 23:00:01"),
        (b"mine r311848 " + SHA, b"mine r311849 " + b"f" * 40),
        (b"main-n262112-4f4e8f2d1b4a-dirty", b"main-n262113-0123456789ab-dirty"),
    ],
)
def test_what_a_build_tells_of_itself_makes_no_other_kernel(one, other):
    assert neutral_digest(kernel(one)) == neutral_digest(kernel(other))
    assert kernel(one) != kernel(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"hw.ncpu", b"hw.ncpo"),
        (b"em0: r8168", b"em0: r8169"),  # a chip is no revision
        (b"ether 00:0d:b9:05:43:08", b"ether 00:0d:b9:05:43:09"),
        (b"n1234567890", b"n1234567891"),
        (b"Intel PRO/1000 7.6-BETA driver", b"Intel PRO/1000 7.7-BETA driver"),
        (b"firmware 1.2-RC n2", b"firmware 1.3-RC n3"),
        (b"Irid 0.0.2 n2-4f4e8f2d1b4a", b"Irid 0.0.3 n2-4f4e8f2d1b4a"),
        (b"x" + SHA, b"y" + SHA),
    ],
)
def test_another_text_is_another_kernel(one, other):
    assert neutral_digest(kernel(one)) != neutral_digest(kernel(other))


def test_a_revision_that_is_code_counts():
    told = (b"r311848 " + SHA, b"r311849 " + SHA)
    one, other = (neutral_digest(kernel(b"", code=code)) for code in told)
    assert one != other


@pytest.mark.parametrize("name", [".debug_line", ".comment", ".gnu_debuglink", ".rela.debug_info"])
def test_what_no_machine_reads_does_not_count_however_long(name):
    short, long = (
        elf(Part(name=name, content=content, flags=DEBUG), Part(name=".data", content=b"same"))
        for content in (b"short", b"much longer")
    )
    assert neutral_digest(short) == neutral_digest(long)


def test_the_linkers_identity_does_not_count():
    one, other = (elf(Part(name=".note.gnu.build-id", content=b * 20)) for b in (b"a", b"b"))
    assert neutral_digest(one) == neutral_digest(other)


def test_where_in_the_file_a_section_lies_does_not_count_but_its_name_and_size_do():
    assert neutral_digest(kernel(b"v")) == neutral_digest(kernel(b"v", pad=64))
    sizes = {
        neutral_digest(elf(Part(name=name, content=bytes(size), kind=NOBITS)))
        for name, size in ((".bss", 8), (".bss", 16), (".sbss", 16))
    }
    assert len(sizes) == 3


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("order", ["<", ">"])
def test_machines_of_all_kinds_are_read(bits, order):
    data = kernel(b"r311848", bits=bits, order=order)
    assert [section.name for section in sections(data)] == [b"", b".text", b".data", b".shstrtab"]
    assert b"r311848" not in neutralise(data)


def test_a_bss_that_begins_behind_the_end_of_the_file_is_no_damage():
    bss = Part(name=".bss", content=bytes(64), kind=NOBITS)
    one, other = (
        elf(Part(name=".rodata", content=b"%s\0" % told), bss) for told in (b"r311848", b"r311849")
    )
    assert neutral_digest(one) == neutral_digest(other)


def test_a_file_whose_sections_are_all_of_it_again_and_again_is_no_program():
    whole = bytearray(kernel(b"r311848", pad=4096))
    size = len(whole)
    assert sections(bytes(whole))
    headers = size - 4 * 64  # null, .text, .data, .shstrtab
    for number in range(1, 4):
        whole[headers + number * 64 + 24 : headers + number * 64 + 40] = struct.pack("<2Q", 0, size)
    assert sections(bytes(whole)) == ()


def test_what_is_no_program_is_known_by_its_bytes():
    assert neutral_digest(b"r311848") != neutral_digest(b"r311849")
    assert neutralise(b"r311848") == b"r311848"


@given(st.binary(max_size=400), st.binary(max_size=400), st.booleans())
def test_nothing_is_moved_code_is_untouched_and_twice_is_once(code, data, is_little):
    whole = kernel(b"r311848", code=code, data=data, order="<" if is_little else ">")
    neutral = neutralise(whole)
    assert len(neutral) == len(whole)
    assert neutralise(neutral) == neutral
    text = sections(whole)[1].span
    assert neutral[text] == whole[text]


@given(st.binary(max_size=300), st.integers(0, 300), st.integers(0, 255))
def test_a_damaged_file_is_read_without_complaint(code, place, byte):
    whole = bytearray(kernel(b"r311848", code=code))
    whole[place % len(whole)] = byte
    assert len(neutralise(bytes(whole))) == len(whole)
    neutral_digest(bytes(whole))


def test_files_are_one_kernel_in_whatever_order_they_are_packed():
    one, other = ("kernel", "1" * 64), ("if_em.ko", "2" * 64)
    assert digest_of_files([one, other]) == digest_of_files([other, one])
    assert digest_of_files([one]) != digest_of_files([one, other])


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_two_real_programs_that_differ_in_their_version_alone_are_one(tmp_path):
    source = tmp_path / "k.c"
    source.write_text(
        "#include <stdio.h>\nconst char version[256] = VERSION;\n"
        'int main(void) { printf("%s\\n", version); return ANSWER; }\n'
    )

    def built(version: bytes, answer: int = 0) -> bytes:
        target = tmp_path / "k"
        defines = [f'-DVERSION="{version.decode()}"', f"-DANSWER={answer}"]
        subprocess.run(["cc", "-O2", "-g", *defines, "-o", target, source], check=True)
        return target.read_bytes()

    one, other = (built(b"r%d %s" % pair) for pair in ((311848, SHA), (311849, SHA[::-1])))
    assert one != other
    assert neutral_digest(one) == neutral_digest(other)
    assert neutral_digest(one) != neutral_digest(built(b"r311848 " + SHA, answer=1))
