"""The writing of a new farm's files, without overwriting any."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.demo.certificates import TRUST, make_certificates
from buildbot_bench.demo.embedded_history import LABELS, make_embedded_history
from buildbot_bench.demo.init.answers import FarmAnswers
from buildbot_bench.demo.init.files import CERTIFICATES, WORKERS, planned_files, workflow
from buildbot_bench.plugin.private_files import SESSION_KEY
from buildbot_bench.workflow import load

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
    """What the masters' secrets hold, by the names of their files."""
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
    """See that bench.yml will be one."""
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
