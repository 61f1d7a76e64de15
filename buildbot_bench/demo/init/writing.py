"""The writing of a new farm's files, without overwriting any, and the steps after it."""

import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path
from tempfile import TemporaryDirectory

import sqlalchemy as sa

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.demo.certificates import TRUST, make_certificates
from buildbot_bench.demo.generated_history import LABELS, make_embedded_history
from buildbot_bench.demo.init.answers import HERE, FarmAnswers
from buildbot_bench.demo.init.files import (
    CERTIFICATES,
    ROUTER,
    WORKERS,
    parts,
    planned_files,
    unit_name,
    workflow,
)
from buildbot_bench.plugin.private_files import SESSION_KEY
from buildbot_bench.workflow.load import load

LOGIN, SMTP_PASSWORD = "bench.login", "smtp.password"
SOURCE = "src"


def write_farm(answers: FarmAnswers, readme: str) -> None:
    """Write all files of a farm; `readme` is what its README says."""
    _try_workflow(answers)
    directory, bin_ = answers.directory, Path(sys.executable).parent
    files = list(planned_files(answers, _passwords(answers), bin_, readme))
    taken = [directory / file.path for file in files]
    for path in (*taken, *(directory / name for name in _made_besides(answers))):
        if path.exists() or path.is_symlink():
            raise UsageError(f"{path} is in the way", hint="name a directory that is not there yet")
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for file, path in zip(files, taken, strict=True):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, file.mode)
            with os.fdopen(descriptor, "w", encoding="utf-8") as written:
                written.write(file.content)
        _write_besides(answers)
    except OSError as error:
        raise InfraError(f"the farm cannot be written: {error}", hint="see the disk") from error


def _passwords(answers: FarmAnswers) -> dict[str, str]:
    names = (LOGIN, SESSION_KEY, *(f"{w}.pass" for w in WORKERS))
    drawn = {name: secrets.token_urlsafe(32) for name in names}
    if answers.mail and answers.mail.password_file:
        try:
            lines = answers.mail.password_file.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise UsageError(f"--smtp-password-file: {error}") from error
        if not lines or not lines[0]:
            raise UsageError(f"--smtp-password-file: {answers.mail.password_file} is empty")
        drawn[SMTP_PASSWORD] = lines[0]
    return drawn


def _try_workflow(answers: FarmAnswers) -> None:
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "bench.yml"
        path.write_text(workflow(answers), encoding="utf-8")
        try:
            load(path)
        except UsageError as error:
            said = str(error).replace(f"{scratch}/", "")
            raise UsageError(f"what the options say makes no bench.yml: {said}") from error


def _made_besides(answers: FarmAnswers) -> Iterator[str]:
    if not answers.repositories:
        yield SOURCE
    if answers.tls:
        yield CERTIFICATES
        yield from (f"{name}/{TRUST}" for name in WORKERS)
    yield from (f"{master.name}/artefacts" for master in answers.masters[1:])


def _write_besides(answers: FarmAnswers) -> None:
    directory = answers.directory
    if not answers.repositories:
        make_embedded_history(directory / SOURCE)
    if answers.tls:
        hosts = list(dict.fromkeys(master.host for master in answers.masters))
        make_certificates(directory / CERTIFICATES, hosts)
        for name in WORKERS:
            shutil.copytree(directory / CERTIFICATES / TRUST, directory / name / TRUST)
    if answers.masters[1:]:
        (directory / answers.masters[0].name / "artefacts").mkdir(mode=0o700, exist_ok=True)
    for master in answers.masters[1:]:
        (directory / master.name / "artefacts").symlink_to("../master/artefacts")


def repository_in_words(answers: FarmAnswers) -> str:
    """What the farm measures."""
    said = ", ".join(one.url for one in answers.repositories)
    return said or f"{answers.directory / SOURCE}, {LABELS[0]} to {LABELS[-1]}"


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
    if answers.lab == "box":
        yield from _box(answers)
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


def _box(answers: FarmAnswers) -> Iterator[NextStep]:
    """Userland and kernel of its machines, from a tree that is checked out, and the machines."""
    run = answers.directory / "run"
    kernel = 'bench-build freebsd --source SRC --kernconf "$BENCH_KERNCONF" --modules ipfw,pf'
    yield NextStep(
        why="Build what the lab's machines run, from a source tree SRC; it takes an hour, once",
        commands=(
            f"{run} builder bench-build world SRC",
            f"{run} builder sh -c '{kernel} --output ../lab/box.txz'",
        ),
    )
    yield NextStep(
        why="Make the box, of the WORLD that was printed, and switch it on; again after each start"
        " of this machine",
        commands=(
            f"{run} lab bench-lab box init box --world WORLD --kernel box.txz",
            f"{run} lab bench-lab box up box",
        ),
    )
    yield NextStep(
        why="Find out how much the machines forward here; it takes some minutes, once",
        commands=(f"{run} lab bench-lab box fit box",),
    )


def _start(answers: FarmAnswers) -> NextStep:
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
        f"It is yours to change: bench.yml, master.cfg, lab/{answers.testbeds}. Next:\n"
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
