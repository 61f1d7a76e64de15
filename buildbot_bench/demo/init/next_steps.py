"""The steps after `bench-farm init`, in order, with the commands to type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from getpass import getuser

import sqlalchemy as sa

from buildbot_bench.demo.init.answers import HERE, FarmAnswers
from buildbot_bench.demo.init.files import CERTIFICATES, ROUTER, parts, unit_name
from buildbot_bench.demo.init.writing import LOGIN, repository_in_words


@dataclass(frozen=True, kw_only=True, slots=True)
class NextStep:
    """Something to do: why, and what to type for it."""

    why: str
    commands: tuple[str, ...] = ()


def next_steps(answers: FarmAnswers) -> Iterator[NextStep]:
    """All of them, in order."""
    run, kind = answers.directory / "run", answers.kind
    first = answers.masters[0].name
    if answers.user != getuser():
        yield NextStep(
            why=f"Give the farm to {answers.user}",
            commands=(f"sudo chown -R {answers.user} {answers.directory}",),
        )
    yield from _database(answers)
    if answers.router:
        yield NextStep(
            why="Install the router, in an environment of its own",
            commands=("python3 -m venv /opt/crossbar", "/opt/crossbar/bin/pip install crossbar"),
        )
    if answers.lab in {"ssh", "command"}:
        table = answers.directory / "lab" / "testbeds.toml"
        yield NextStep(why=f"Say in {table} what your testbed is; it has an example")
    builder = (f"{run} builder bench-build check",) if kind.builds_freebsd else ()
    yield NextStep(
        why="See what the lab" + (" and the builder lack" if builder else " lacks"),
        commands=(f"{run} lab bench-lab check {kind.testbed}", *builder),
    )
    yield NextStep(
        why="Make the tables", commands=(f"{run} {first} buildbot upgrade-master --quiet .",)
    )
    yield _start(answers)
    yield NextStep(
        why=f"Open {answers.masters[0].url} and log in as {LOGIN.partition('.')[0]}; the password"
        f" is in {answers.directory / first / 'secrets' / LOGIN}"
    )
    yield NextStep(
        why="Ask how it is, now and then",
        commands=(f"{run} {first} bench-farm doctor --dir {answers.directory}",),
    )
    yield from _elsewhere(answers)


def _start(answers: FarmAnswers) -> NextStep:
    """Its units, or its parts by hand."""
    here = answers.directory
    names = [unit_name(answers, part) for part in parts(answers)]
    if answers.units == "systemd":
        commands = [
            f"sudo cp {here}/units/*.service /etc/systemd/system/",
            "sudo systemctl daemon-reload",
            f"sudo systemctl enable --now {' '.join(names)}",
        ]
    else:
        commands = [
            f"sudo cp {here}/units/* /usr/local/etc/rc.d/",
            *(f"sudo sysrc {name}_enable=YES" for name in names),
            *(f"sudo service {name} start" for name in names),
        ]
    by_hand = "; ".join(f"{here}/run {part}" for part in parts(answers))
    return NextStep(
        why="Start it, and have it started with the machine; without root, each in a terminal:"
        f" {by_hand}",
        commands=tuple(commands),
    )


def in_words(answers: FarmAnswers) -> str:
    """What was made, and the steps, as a person reads them."""
    mail = f"mails {', '.join(answers.mail.to)}" if answers.mail else "mails nobody (see --mail-to)"
    head = (
        f"{answers.directory} is a farm that measures {repository_in_words(answers)}, and {mail}.\n"
        "It is yours to change: bench.yml, master.cfg, lab/testbeds.toml. Next:\n"
    )
    lines = [head]
    for number, step in enumerate(next_steps(answers), start=1):
        lines.append(f"{number}. {step.why}.\n")
        lines += [f"       {command}\n" for command in step.commands]
    return "".join(lines)


def _database(answers: FarmAnswers) -> Iterator[NextStep]:
    url = sa.make_url(answers.database)
    if url.get_backend_name() != "postgresql":
        return
    where = f" --host={url.host}" if url.host else ""
    where += f" --port={url.port}" if url.port else ""
    owner = url.username or answers.user
    yield NextStep(
        why="Make the database, unless it is there; its password, if it has one, goes into"
        f" ~/.pgpass of {answers.user}",
        commands=(f"createuser{where} {owner}", f"createdb{where} --owner={owner} {url.database}"),
    )


def _elsewhere(answers: FarmAnswers) -> Iterator[NextStep]:
    """What is to be brought to other machines."""
    here = answers.directory
    yield NextStep(
        why=f"A worker on a machine of its own needs the package there, {here}/run and its own"
        f" directory, {here}/builder or {here}/lab, under the same path, and its unit"
    )
    others = [one for one in answers.masters[1:] if one.host != answers.masters[0].host]
    if others:
        names = ", ".join(f"{one.name} on {one.host}" for one in others)
        yield NextStep(
            why=f"Copy all of {here} to the machines of the other masters, and run {names}; give"
            " all one directory artefacts, or say `artefacts: {place: …}` in bench.yml"
        )
    if answers.router and any(one.host not in HERE for one in answers.masters):
        yield NextStep(
            why=f"Have the router listen where all masters reach it, and nobody else does: see"
            f" {here / ROUTER / 'config.json'} and docs/how-to/several-masters.md"
        )
    if answers.tls:
        yield NextStep(
            why=f"Keep {here / CERTIFICATES / 'authority.key'} off both, where you alone have it"
        )
