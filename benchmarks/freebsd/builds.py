"""The rows of `make test-freebsd` that only build: durations and equality of kernels."""

from collections.abc import Iterator

from benchmarks.freebsd.sets import linker_sets, unlinkable
from benchmarks.freebsd.table import Figure, at_most, same
from benchmarks.freebsd.workshop import START, Workshop

# Of two cores, wanted.
NO_CHANGE_S, ONE_FILE_S, RELINK_S = 30.0, 60.0, 40.0
IMAGES = (1, 2, 3)
# A file of the forwarding path that FreeBSD has had since 1998; and one of its manual.
FILE = "sys/netinet/ip_fastfwd.c"
PAGE = "share/man/man4/inet.4"
_CODE = """
int bench_touched(int);
int
bench_touched(int x)
{

	return (x * 3);
}
"""


def build(workshop: Workshop) -> Iterator[Figure]:
    """From nothing; with nothing to do; with one file changed. The tool chain is built once."""
    workshop.go(START)
    first = workshop.build("start")
    yield Figure(
        row="build",
        what="from nothing",
        wanted="told",
        seen=f"{first.seconds:.0f} s: {first.stages}",
    )
    odd = unlinkable(first.archive)
    yield Figure(
        row="build",
        what="modules that the kernel can link",
        wanted="all",
        seen=f"not {', '.join(odd)}" if odd else "all",
        is_met=not odd,
    )
    again = workshop.build("again")
    yield at_most("build", "no change", NO_CHANGE_S, again.seconds)
    workshop.commit("one file", FILE, _CODE)
    changed = workshop.build("one-file")
    yield at_most("build", f"one file ({FILE})", ONE_FILE_S, changed.seconds)
    yield same("build", "… is another kernel", first.digest, changed.digest, wanted=False)
    kept = len(list((workshop.place / "toolchains").glob("*/made-of.json")))
    yield Figure(
        row="build", what="tool chains built", wanted="1", seen=str(kept), is_met=kept == 1
    )


def digest(workshop: Workshop) -> Iterator[Figure]:
    """What changes no code changes no digest: a comment, a page of the manual, a revert."""
    workshop.go(START)
    plain = workshop.build("start")
    workshop.commit("a comment", FILE, "/* A comment. */\n")
    yield same("digest", "a comment", plain.digest, workshop.build("comment").digest)
    workshop.commit("a page of the manual", PAGE, '.\\" A comment.\n')
    yield same("digest", "a page of the manual", plain.digest, workshop.build("page").digest)
    workshop.commit("one file", FILE, _CODE)
    changed = workshop.build("changed")
    yield same("digest", "a change", plain.digest, changed.digest, wanted=False)
    workshop.git("revert", "--no-edit", "HEAD")
    yield same("digest", "its revert", plain.digest, workshop.build("reverted").digest)


def relink(workshop: Workshop) -> Iterator[Figure]:
    """Images are quick to link, differ, and keep the order of what is called at boot."""
    workshop.go(START)
    plain = workshop.build("start")
    sets = linker_sets(plain.archive)
    seen = {plain.digest}
    for image in IMAGES:
        linked = workshop.build(f"image-{image}", image=image)
        yield at_most("relink", f"image {image}", RELINK_S, linked.seconds)
        seen.add(linked.digest)
        ordered = linker_sets(linked.archive) == sets
        entries = sum(map(len, sets.values()))
        yield Figure(
            row="relink",
            what=f"image {image}: linker sets in order",
            wanted=f"{entries} entries",
            seen="all" if ordered else "another order",
            is_met=ordered and entries > 0,
        )
    yield Figure(
        row="relink",
        what="images that differ",
        wanted=str(len(IMAGES) + 1),
        seen=str(len(seen)),
        is_met=len(seen) == len(IMAGES) + 1,
    )
    yield same("relink", "image 0 again", plain.digest, workshop.build("plain").digest)


def directory(workshop: Workshop) -> Iterator[Figure]:
    """Another directory and other objects: one digest, and the tool chain is there already."""
    workshop.go(START)
    plain = workshop.build("start")
    elsewhere = workshop.place / "elsewhere" / "src"
    if not elsewhere.exists():
        workshop.git("worktree", "add", "--quiet", "--force", "--detach", str(elsewhere), START)
    obj = workshop.place / "elsewhere" / "obj"
    other = workshop.build("elsewhere", source=elsewhere, obj=obj)
    yield same("directory", "another directory", plain.digest, other.digest)
    yield Figure(
        row="directory",
        what="… all anew but the tool chain",
        wanted="told",
        seen=f"{other.seconds:.0f} s: {other.stages}",
    )
