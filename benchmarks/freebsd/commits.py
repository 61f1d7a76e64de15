"""Ten commits on a scratch clone, two of which make a packet's way longer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.freebsd.workshop import START, Workshop
from buildbot_bench.core.errors import UsageError

BRANCH = "test-freebsd"
FAST_PATH = "sys/netinet/ip_fastfwd.c"
# What only packets for others reach.
ROUTE_LOOKUP = "\tif (ip_findroute(&nh, dest, m) != 0)\n"
_ELSEWHERE = "sys/netinet/raw_ip.c"
_INPUT = "sys/netinet/ip_input.c"
_PAGE = "share/man/man4/inet.4"
_FUNCTION = "ip_tryforward(struct mbuf *m)\n"
_ANCHOR = "ip = mtod(m, struct ip *);\n"

# Four instructions on a packet's way, which the compiler must not fold: a tenth of a percent.
_COUNTED = """\
	{
		static volatile u_int bench_forwarded;

		bench_forwarded++;
		bench_forwarded++;
		bench_forwarded++;
		bench_forwarded++;
	}
"""
# What ip_input does again for packets that are not forwarded: 2 to 3 % of a packet's way.
_CHECKED = """\
	if (ip->ip_hl == (sizeof(struct ip) >> 2) && in_cksum_hdr(ip) != 0)
		return (m);
"""
UNUSED = """
int bench_unused_{n}(int);
int
bench_unused_{n}(int x)
{{

	return (x * {n});
}}
"""
TENTH, CHECKSUM = 4, 7


@dataclass(frozen=True, kw_only=True, slots=True)
class Commits:
    """`hashes` of the start and of the ten, oldest first."""

    hashes: Sequence[str]

    @property
    def tenth(self) -> str:
        """The commit that adds a tenth of a percent."""
        return self.hashes[TENTH]

    @property
    def checksum(self) -> str:
        """The commit that adds a redundant checksum."""
        return self.hashes[CHECKSUM]


def make_commits(workshop: Workshop) -> Commits:
    """Put the ten on a branch of their own; UsageError for a tree whose fast path is another."""
    workshop.go(START)
    changes: Sequence[tuple[str, str, Callable[[str], str]]] = (
        ("Explain the fast path", FAST_PATH, _appended("/* A comment. */\n")),
        ("Add a helper to raw sockets", _ELSEWHERE, _appended(UNUSED.format(n=3))),
        ("Mention it in the manual", _PAGE, _appended('.\\" A comment.\n')),
        ("Count what is forwarded", FAST_PATH, _in_fast_path(_COUNTED)),
        ("Add a helper to the input", _INPUT, _appended(UNUSED.format(n=5))),
        ("Explain the input", _INPUT, _appended("/* A comment. */\n")),
        ("Verify the header's checksum", FAST_PATH, _in_fast_path(_CHECKED)),
        ("Add another helper to raw sockets", _ELSEWHERE, _appended(UNUSED.format(n=7))),
        ("Explain raw sockets", _ELSEWHERE, _appended("/* A comment. */\n")),
        ("Add another helper to the input", _INPUT, _appended(UNUSED.format(n=9))),
    )
    hashes = [workshop.git("rev-parse", "HEAD").strip()]
    for message, name, change in changes:
        file = workshop.source / name
        file.write_text(change(file.read_text(encoding="utf-8")), encoding="utf-8")
        workshop.git("commit", "--quiet", "--all", f"--message={message}")
        hashes.append(workshop.git("rev-parse", "HEAD").strip())
    workshop.git("branch", "--force", BRANCH, "HEAD")
    return Commits(hashes=hashes)


def _appended(more: str) -> Callable[[str], str]:
    return lambda text: text + more


def _in_fast_path(more: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        before, function, body = text.partition(_FUNCTION)
        head, anchor, rest = body.partition(_ANCHOR)
        if not anchor:
            raise UsageError(
                f"{FAST_PATH}: ip_tryforward has no line “{_ANCHOR.strip()}”",
                hint="run the other rows: --rows build,digest,relink,directory,boot,exact",
            )
        return before + function + head + anchor + more + rest

    return change
