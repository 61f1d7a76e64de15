"""The row of `make test-freebsd` in which FreeBSD runs what a builder or lab host of it runs.

A machine of the box has FreeBSD's own sh, rc, service and jail, and neither Python, doas nor a
compiler: the sandbox's jail and the worker's rc script run, a worker and a native build do not.
"""

from collections.abc import Iterator

from benchmarks.freebsd.box import Box, the_box
from benchmarks.freebsd.table import Figure
from benchmarks.freebsd.workshop import Workshop
from tests.readme import CHECKOUT

_MACHINE = "generator"
_JAIL, _SERVICE = "/usr/local/libexec/bench-jail", "buildbot_bench_worker"
# doas(1) is no part of FreeBSD's base: what it would set is set here, and the caller is root.
# The one who asks holds the other end of standard input: as long as that is open, the jail lives.
_ASKER = "rm -f /tmp/asker; mkfifo /tmp/asker; sleep 30 >/tmp/asker 2>/dev/null & "
_IN_JAIL = f"{_ASKER}DOAS_USER=nobody {_JAIL} /tmp"
_SLEEPERS, _HOW_MANY = "sleep 1000 & sleep 1000", "pgrep -x -f 'sleep 1000' | wc -l"
_JAILED = {
    "a command runs as its user, in its directory": (
        f"{_IN_JAIL} sh -c 'echo $(id -un) $(pwd -P) $(hostname)' </tmp/asker",
        "nobody /tmp sandbox",
    ),
    "there is no network": (
        f"{_IN_JAIL} sh -c 'ifconfig | grep -c inet' </tmp/asker",
        "0",
    ),
    "it ends as the command does": (f"{_IN_JAIL} sh -c 'exit 7' </tmp/asker; echo $?", "7"),
    "root has no jail": (f"DOAS_USER=root {_JAIL} /tmp true 2>/dev/null; echo $?", "75"),
    "all ends when who asked is gone": (
        f"sleep 3 | DOAS_USER=nobody {_JAIL} /tmp sh -c '{_SLEEPERS}'; {_HOW_MANY}",
        "0",
    ),
}
# In place of twistd(1), which needs Python; it waits as that does, and says what it was given.
_SAID = "/var/tmp/twistd.said"  # noqa: S108 - on the emulated machine
_STAND_IN = f"""\
#!/bin/sh
echo "$BENCH_WORKER $(id -un) $(pwd -P) $*" >{_SAID}
exec sleep 5000
"""
_SETTINGS = f"""\
{_SERVICE}_enable=YES
{_SERVICE}_name=lab
{_SERVICE}_dir=/tmp
{_SERVICE}_runas=nobody
{_SERVICE}_twistd=/usr/local/bin/twistd
"""
# On a busy host an emulated machine takes seconds to start a program.
_SOON = f"for n in 1 2 3 4 5 6 7 8 9; do [ -s {_SAID} ] || sleep 2; done"
_RUNS = "pgrep -u nobody -x -f 'sleep 5000' >/dev/null && echo runs || echo is away"
_SERVED = {
    "it starts as its user, in its directory": (
        f"rm -f {_SAID}; service {_SERVICE} start >/dev/null 2>&1; {_SOON}; cat {_SAID}",
        "lab nobody /tmp --nodaemon --pidfile= --no_save -y buildbot.tac",
    ),
    "status says that it runs": (
        f"service {_SERVICE} status | sed 's/ as pid.*//'",
        f"{_SERVICE} is running",
    ),
    "one that ends is started again": (
        f"pkill -u nobody -x -f 'sleep 5000'; sleep 9; {_RUNS}",
        "runs",
    ),
    "stop ends it and what started it": (
        f"service {_SERVICE} stop >/dev/null 2>&1; sleep 2; {_RUNS}",
        "is away",
    ),
}


def host(workshop: Workshop) -> Iterator[Figure]:
    """The jail of SECURITY.md and the rc script are run by FreeBSD's own programs."""
    lab = the_box(workshop)
    workers = CHECKOUT / "workers"
    for file, name in (
        (workers / "jail" / "bench-jail", _JAIL),
        (workers / "rc.d" / _SERVICE, f"/usr/local/etc/rc.d/{_SERVICE}"),
    ):
        install(lab, file.read_text(encoding="utf-8"), name)
    install(lab, _STAND_IN, "/usr/local/bin/twistd")
    install(lab, _SETTINGS, f"/etc/rc.conf.d/{_SERVICE}")
    for row, cases in (("jail", _JAILED), ("rc.d", _SERVED)):
        for what, (script, wanted) in cases.items():
            seen = lab.ssh(_MACHINE, "sh", said=f"{script}\n") or "nothing"
            yield Figure(row=row, what=what, wanted=wanted, seen=seen, is_met=seen == wanted)
    for what, why in {
        "a worker of Buildbot's": "no Python for FreeBSD comes with its source tree",
        "bench-build freebsd natively": "nor does a compiler that runs there within an evening",
    }.items():
        yield Figure(row="host", what=what, wanted="told", seen=f"not run: {why}")


def install(lab: Box, text: str, name: str) -> None:
    """Write a file on the machine that can be run, by the shell that it has."""
    directory = name.rpartition("/")[0]
    words = f"mkdir -p {directory} && cat >{name} && chmod 755 {name}"
    lab.ssh(_MACHINE, "sh", "-c", f"'{words}'", said=text)
