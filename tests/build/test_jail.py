"""What is asked of FreeBSD's jail(8), jexec(8) and doas(1), by programs that check and record it.

They are stand-ins: no jail is made here. What the real ones refuse of a jail's parameters, they
refuse by the names that jail(8) of FreeBSD 14.2 lists.
"""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from buildbot_bench.core.build_log import EX_TEMPFAIL
from tests.fakes.lab import is_alive, wait_for
from tests.running import ran

HELPER = Path(__file__).parents[2] / "workers" / "jail" / "bench-jail"
# Of doas(1): no environment of the user's but DOAS_USER, and no question with -n.
DOAS = """#!/bin/sh
[ "$1" = -n ] || { echo "doas: a password is required" >&2; exit 1; }
shift
[ "$(id -u)" != 12345 ] || exit 1
exec env -i PATH=/usr/bin:/bin DOAS_USER=builder HOME=/root "$@"
"""
JAIL = """#!/bin/sh
echo "jail $*" >>HERE/said
case $1 in
-c) shift
    for word; do
        case $word in
        name=*|path=*|persist|host.hostname=*|ip4=disable|ip6=disable|children.max=0) ;;
        enforce_statfs=[012]|allow.noset_hostname) ;;
        sysvmsg=new|sysvsem=new|sysvshm=new) [ ! -e HERE/no-ipc ] || exit 1 ;;
        *) echo "jail: unknown parameter: $word" >&2; exit 1 ;;
        esac
    done
    [ ! -e HERE/full ] || { echo "jail: jail_set: Operation not permitted" >&2; exit 1; } ;;
-R) if [ -e HERE/inside ]; then kill -9 -"$(cat HERE/inside)"; rm HERE/inside; fi ;;
*) exit 64 ;;
esac
"""
# A parameter of jails that the kernel has is a name that this one knows, too.
SYSCTL = """#!/bin/sh
case "$1 $2" in
"-qN security.jail.param.sysv"*) [ ! -e HERE/no-ipc ] && echo "$2." ;;
*) exit 64 ;;
esac
"""
# Its own session: what was started in the jail is what jail -R ends.
JEXEC = """#!/bin/sh
echo "jexec $1 $2 $3" >>HERE/said
shift 3
exec setsid --wait sh -c 'echo $$ >HERE/inside; cd / && exec "$@"' sh "$@"
"""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine with such programs, and a builder's directory."""

    home: Path

    @property
    def command(self) -> list[str]:
        words = ["--use=jail", f"--directory={self.home / 'kernel'}", "--", "sh", "-c"]
        return [sys.executable, "-m", "buildbot_bench.build.cli", "sandboxed", *words]

    @property
    def settings(self) -> dict:
        path = f"{self.home}/bin:/usr/bin:/bin"
        env = {"PATH": path, "HOME": "/home/b", "BENCH_IMAGE": "a b", "XDG_CACHE_HOME": "/x"}
        return {"cwd": self.home / "kernel" / "build", "env": env}

    def run(self, script: str) -> tuple[int, str, str]:
        done = ran([*self.command, script], timeout=30, **self.settings)
        return done.returncode, done.stdout, done.stderr

    def said(self) -> list[str]:
        """What was asked of jail and jexec, but for the probe whether there can be a jail."""
        return (self.home / "said").read_text().splitlines()[3:]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    (tmp_path / "kernel" / "build").mkdir(parents=True)
    programs = tmp_path / "bin"
    programs.mkdir()
    helper = HELPER.read_text().replace("PATH=/sbin:", f"PATH={programs}:/sbin:", 1)
    texts = {"doas": DOAS, "jail": JAIL, "jexec": JEXEC, "sysctl": SYSCTL, "bench-jail": helper}
    for name, text in texts.items():
        (programs / name).write_text(text.replace("HERE", str(tmp_path)))
        (programs / name).chmod(0o755)
    return Machine(home=tmp_path)


def test_a_script_runs_as_the_user_in_a_jail_without_network(machine: Machine) -> None:
    status, said, _ = machine.run('pwd; echo "$BENCH_IMAGE $HOME ${XDG_CACHE_HOME-none}"; exit 3')
    place = machine.home / "kernel"
    assert (status, said) == (3, f"{place}/build\na b {place}/.sandbox-home none\n")
    made, entered, removed = machine.said()
    name = next(word for word in made.split() if word.startswith("name="))
    assert {"path=/", "ip4=disable", "ip6=disable", "persist", "sysvshm=new"} <= set(made.split())
    assert entered == f"jexec -u builder {name.removeprefix('name=')}"
    assert removed == f"jail -R {name.removeprefix('name=')}"


def test_a_kernel_without_ipc_of_system_v_has_jails(machine: Machine) -> None:
    (machine.home / "no-ipc").touch()
    status, said, _ = machine.run("echo built")
    assert (status, said) == (0, "built\n")


def test_a_jail_ends_when_who_asked_is_killed(machine: Machine) -> None:
    began = machine.home / "kernel" / "build" / "began"
    killed = subprocess.Popen([*machine.command, "echo $$ >began; sleep 6000"], **machine.settings)
    wait_for(began.exists)
    wait_for(lambda: began.read_text().endswith("\n"))
    killed.kill()
    killed.wait()
    wait_for(lambda: machine.said()[-1].startswith("jail -R"))
    wait_for(lambda: not is_alive(int(began.read_text())))


@pytest.mark.parametrize("lacks", ["doas", "bench-jail"])
def test_a_machine_without_jails_builds_nothing_and_says_why(machine: Machine, lacks: str) -> None:
    (machine.home / "bin" / lacks).unlink()
    status, _, said = machine.run("true")
    assert status == EX_TEMPFAIL
    assert "no sandbox: " in said
    assert lacks in said


def test_a_jail_that_the_system_refuses_says_nothing_of_the_revision(machine: Machine) -> None:
    (machine.home / "full").touch()
    status, _, said = machine.run("true")
    assert status == EX_TEMPFAIL
    assert "jail_set: Operation not permitted" in said


def test_nobody_has_root_run_it_without_doas(machine: Machine) -> None:
    helper = machine.home / "bin" / "bench-jail"
    for env, words in (({}, "run it by doas"), ({"DOAS_USER": "root"}, "has no jail")):
        done = ran([helper, "/", "true"], env=env)
        assert done.returncode != 0
        assert words in done.stderr
