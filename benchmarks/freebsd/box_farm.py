"""The row of `make test-freebsd` with a farm on a lab in a box, from a commit to the mail."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from email.message import EmailMessage

import httpx

from benchmarks.freebsd.box import Box, the_box
from benchmarks.freebsd.commits import FAST_PATH, ROUTE_LOOKUP, UNUSED
from benchmarks.freebsd.showing import say
from benchmarks.freebsd.table import Figure, at_most
from benchmarks.freebsd.workshop import START, Workshop
from buildbot_bench.core.errors import UsageError
from buildbot_bench.demo.scenario import Onlooker
from tests.asking import ASKED
from tests.e2e.inbox import Inbox, plain
from tests.e2e.made_farm import MadeFarm
from tests.e2e.replay_farm import end_processes_in
from tests.ports import free_port

COMMITS, CULPRIT = 8, 5  # the fifth of eight is dearer
SEARCH_S = 30 * 60.0
_FIRST_S, _ALL_S = 3 * 3600.0, 6 * 3600.0  # a kernel is built from nothing; then nine more
_BRANCH = "box-farm"
_QUIET, _DEARER = "Add helper {n} to raw sockets", "Look twice at what is forwarded"
# Some hundred thousand instructions on a packet's way, where the rest takes some ten thousand.
_LOOP = """\
	for (volatile u_int bench_n = 0; bench_n < 20000; bench_n++)
		continue;
"""


def farm(workshop: Workshop) -> Iterator[Figure]:
    """A branch of eight commits is pushed; the mail names the dearer one."""
    lab = the_box(workshop)
    hashes = plant_commits(workshop)
    workshop.git("branch", "--force", _BRANCH, hashes[0])
    with ExitStack() as ends:
        place = workshop.place / "box-farm"
        inbox = ends.enter_context(Inbox(workshop.place))
        ends.callback(end_processes_in, place)
        made = make_farm(workshop, lab, inbox)
        ends.callback(made.end)
        begun_s = time.monotonic()
        onlooker = Onlooker(made.urls[0], say)
        made.wait(lambda: _measured(made, onlooker), "the first commit is measured", _FIRST_S)
        yield Figure(
            row="farm",
            what="the first commit is built and measured",
            wanted="told",
            seen=f"{time.monotonic() - begun_s:.0f} s",
        )
        workshop.git("branch", "--force", _BRANCH, hashes[-1])
        begun_s, begun_at = time.monotonic(), time.time()
        mail = made.wait(lambda: _culprit_in(inbox, onlooker), "the mail", _ALL_S)
        seconds = time.monotonic() - begun_s
        build_s = _building_s(made, begun_at)
        subject = str(mail["Subject"])
        yield Figure(
            row="farm",
            what="the mail",
            wanted=f"names {hashes[CULPRIT][:10]}",
            seen=subject,
            is_met=hashes[CULPRIT][:10] in plain(mail),
        )
        yield at_most(
            "farm", "from the push to the mail, beside builds", SEARCH_S, seconds - build_s
        )
        (place / "mail.txt").write_text(plain(mail), encoding="utf-8")
        say(f"… the mail is in {place / 'mail.txt'}")


def make_farm(workshop: Workshop, lab: Box, inbox: Inbox) -> MadeFarm:
    """Make a farm as `bench-farm init` does, with this box in the place of a new one."""
    made = MadeFarm.make(
        workshop.place / "box-farm",
        *("--lab=box", "--units=systemd", f"--repository={workshop.source}"),
        *(f"--branch={_BRANCH}", "--mail-to=net@example.org", f"--smtp=localhost:{inbox.port}"),
        *(f"--port={free_port()}", f"--pb-port={free_port()}"),
        BENCH_POLL_S="5",
    )
    (made.directory / "lab" / "box").symlink_to(lab.home)
    made.type("upgrade-master")
    for part in ("master", "builder", "lab"):
        made.start(part)
    return made


def plant_commits(workshop: Workshop) -> Sequence[str]:
    """Commit eight changes on top of the tree; the start and the eight, the oldest first."""
    workshop.go(START)
    hashes = [workshop.git("rev-parse", "HEAD").strip()]
    for n in range(1, COMMITS + 1):
        if n == CULPRIT:
            file = workshop.source / FAST_PATH
            text = file.read_text(encoding="utf-8")
            if ROUTE_LOOKUP not in text:
                raise UsageError(f"{FAST_PATH} has no line “{ROUTE_LOOKUP.strip()}”")
            file.write_text(text.replace(ROUTE_LOOKUP, _LOOP + ROUTE_LOOKUP, 1), encoding="utf-8")
            hashes.append(workshop.commit(_DEARER, FAST_PATH, ""))
        else:
            helper = UNUSED.format(n=n)
            hashes.append(workshop.commit(_QUIET.format(n=n), "sys/netinet/raw_ip.c", helper))
    return hashes


def _measured(made: MadeFarm, onlooker: Onlooker) -> bool:
    onlooker.look()
    probes = made.get(made.urls[0], "probes")["probes"]
    return any(one["state"] == "done" for one in probes)


def _culprit_in(inbox: Inbox, onlooker: Onlooker) -> EmailMessage | None:
    """The mail about a culprit, once it is there; what else is mailed meanwhile is shown."""
    onlooker.look()
    for mail in inbox.mails():
        onlooker.tell(str(mail["Message-ID"]), f"a mail came: {mail['Subject']}")
        if "sure]" in str(mail["Subject"]):
            return mail
    return None


def _building_s(made: MadeFarm, since: float) -> float:
    """How long the builder built since then."""
    url = f"{made.urls[0]}api/v2/workers"
    (number,) = (
        one["workerid"]
        for one in httpx.get(url, **ASKED).raise_for_status().json()["workers"]
        if one["name"] == "builder"
    )
    answer = httpx.get(f"{url}/{number}/builds?started_at__ge={int(since)}", **ASKED)
    builds = answer.raise_for_status().json()["builds"]
    done = [one for one in builds if one["complete_at"]]
    return float(sum(one["complete_at"] - one["started_at"] for one in done))
