"""Small well-formed inputs, from which those of `make fuzz` are made."""

import io
import json
import tarfile
from pathlib import Path

from buildbot_bench.archives.contents import MANIFEST_NAME, Manifest, write_manifest
from buildbot_bench.core.read_files import ReadFiles, pack_read_files
from buildbot_bench.core.wire import (
    Failed,
    FailureKind,
    Finished,
    Measured,
    Phase,
    Profiled,
    Started,
    format_event,
    join_logs,
    pieces,
    split_logs,
)
from tests.core.elf_files import CODE, DEBUG, NOTE, Part, elf
from tests.readme import CHECKOUT

_DATA = Path(__file__).parents[1] / "data"

JSON_WORDS = (b"null", b"true", b"-1", b"1e999", b"NaN", b'"\\ud800"', b"[", b"{", b'""', b"1" * 30)
TOML_WORDS = (b"[testbeds.a]\n", b'driver = "ssh"\n', b"[[", b"nan", b"inf", b'"""', b"1979-01-01")
YAML_WORDS = (b"- ", b"&a ", b"*a", b"!!python/name:os.system ", b"<<: ", b"? ", b"|\n", b"{", b"[")
PATCH_WORDS = (b"@@ -1,1 +1,1 @@\n", b"rename from ", b"GIT binary patch\n", b"\xe2\x80\xae", b"\r")

EVENTS = tuple(
    format_event(event).encode()
    for event in (
        Started(job="a", testbed="t", workload="w", digest="0" * 64, iterations=5),
        Phase(text="iteration 1 of 5", at_s=1.0),
        Measured(ordinal=0, at_s=1.0, duration_s=2.0, values={"pps": 1e6}, facts={"a": "b"}),
        Measured(ordinal=1, at_s=1.0, duration_s=2.0, failure="no boot", log="panic: x"),
        Profiled(at_s=1.0, duration_s=1.0, counter="c", folded="a;b 1\n", packets=3),
        Failed(kind=FailureKind.UNTESTABLE, reason="no boot"),
        Finished(iterations=5),
    )
)
OUTPUTS = (
    b"\n".join(EVENTS),
    "\n".join(pieces(EVENTS[0].decode() + "x" * 5000)).encode(),
    join_logs(split_logs("a log")).encode(),
)
PATCHES = (
    (
        b"diff --git a/sys/a.c b/sys/a.c\nindex 1..2 100644\n--- a/sys/a.c\n+++ b/sys/a.c\n"
        b"@@ -1,3 +1,3 @@ int f(void)\n a\n-b\n+c\n d\n"
    ),
    (
        b"Index: sys/a.c\n===\n--- sys/a.c\t(revision 1)\n+++ sys/a.c\t(working copy)\n"
        b"@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"
    ),
    (
        b"diff --git a/kernel b/kernel\nnew file mode 120000\n--- /dev/null\n+++ b/kernel\n"
        b"@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n"
    ),
)
PMC_GRAPHS = (b"@ cpu_clk_unhalted [10 samples]\n\n100.0%  [10]       forward @ /boot/kernel/a\n",)
READ_FILES = pack_read_files(ReadFiles(names=frozenset({"sys/netinet/a.c", "sys/kern/b.c"})))
VARIANTS = (
    *(b"r311848+D8526", b"r1+NOINET6+file:a.patch", b"stable/14~3+net.isr.dispatch=direct"),
    *(b"main~3", b"r317849+VIMAGE", b"+", b"r1++", b"D99999999999"),
)
REVISIONS = (
    b"r311848",
    b"n258000",
    b"main~3",
    b"0123456789ab",
    b"stable/14",
    b"main@{2026-01-31}^^~2",
    b"v1^{}",
)
MANIFESTS = (
    write_manifest(
        Manifest(variant="", config="GENERIC", toolchain="clang", flags="-O2", files={"a": "0"})
    ).encode(),
)
ELF_FILES = (
    elf(Part(name=".text", content=b"\x90" * 8, flags=CODE), Part(name=".data", content=b"a")),
    elf(Part(name=".symtab", content=bytes(48), kind=2), bits=32, order=">"),
    elf(Part(name=".note.gnu.build-id", content=bytes(36), kind=NOTE)),
    elf(Part(name=".debug_line", content=bytes(64), flags=DEBUG)),
)
BUILD_LOGS = (
    b"cc -c a.c\na.c:1:2: error: no such thing\n*** [a.o] Error code 1\n",
    b"make: don't know how to make kernel. Stop\nsh: cc: not found\n",
)
RECEIVER_LOGS = tuple(
    b"1.0 main_thread [2639] " + line
    for line in (
        b"1.453 Mpps (1.5 Mpkts 697 Mbps in 1001 usec) 7.5 avg_batch 0 min_space\n",
        b"Received 80 packets 4800 bytes 9 events 60 bytes each in 1.5 seconds.\n",
        b"Sent 80 packets 4800 bytes 9 events 60 bytes each in 1.5 seconds.\n",
    )
)
TESTBEDS = (
    b'[testbeds.a]\ndriver = "embedded"\nduration_s = 0.5\n',
    b'[testbeds.vm]\ndriver = "qemu"\ncounter = "instructions"\n',
    b'[testbeds.b]\ndriver = "ssh"\n[testbeds.b.dut]\nhost = "dut"\n',
)
LAB_CONFIGS = ((_DATA / "lab" / "bench-lab-2nodes.config").read_bytes(),)
RECORDINGS = (
    json.dumps(
        {
            "dut": "apu2",
            "label": "l",
            "workload": "forwarding",
            "points": [{"revision": "r311848", "pps": [1.0, 2.0]}],
        }
    ).encode(),
)
ARCHIVES = (
    b'IMAGE="311848"\nCFG="forwarding"\n'
    b'UNAME="FreeBSD 12.0-CURRENT #0 r311848M: Tue Jan 10 10:00:00 CET 2017"'
    b"\n\n700000\n" + RECEIVER_LOGS[0] + RECEIVER_LOGS[1],
)
WORKFLOWS = (
    (CHECKOUT / "bench.yml").read_bytes(),
    (_DATA / "workflow" / "everything-wrong.yml").read_bytes(),
    (_DATA / "workflow" / "from-github.yml").read_bytes(),
)
BISECT_ARGUMENTS = (
    b"r1\nr2\n--min-effect\n2%\n--json",
    b"--mark\n3\nfixed\nr7",
    b"--list\n--farm\nhttp://farm.example.org:8010",
)
COMPARISONS = (b"r1\nr2+VIMAGE\n--label\na\n-n\n5", b"--follow\n3\n--markdown")
ANSWERS = (
    json.dumps(
        {
            "id": 1,
            "state": "running",
            "old": {"label": "r1", "sha": "0" * 40, "position": 1},
            "new": {"label": "r2", "sha": "1" * 40, "position": 2},
            "testbed": "t",
            "workload": "w",
        }
    ).encode(),
)


def _archive(*members: tuple[str, bytes], kind: bytes = tarfile.REGTYPE) -> bytes:
    """A tar archive; `kind` is that of its first member."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for number, (name, content) in enumerate(members):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            if number == 0:
                info.type, info.linkname = kind, "kernel"
            archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


ARTEFACTS = (
    _archive(("boot/kernel/kernel", ELF_FILES[0]), (MANIFEST_NAME, MANIFESTS[0])),
    _archive(("boot/kernel/kernel", b""), ("a", b"b"), kind=tarfile.SYMTYPE),
    _archive(("a" * 150, b"b")),
    ELF_FILES[0],
)
