"""A report is put where a change is reviewed, which options or a job's environment name."""

import argparse
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from buildbot_bench.cli.console import ExitStatus, say
from buildbot_bench.cli.review_sites import (
    comment_on_gerrit,
    comment_on_github,
    comment_on_gitlab,
    comment_on_phabricator,
    find_pull_request,
)
from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.legible import quoted

_MOST_BYTES = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,40}")


def run(options: argparse.Namespace) -> ExitStatus:
    """Put the one report there."""
    if len(options.paths) != 1:
        raise UsageError("name one report", hint="as in `bench-comment report.md`")
    if not _NAME.fullmatch(options.name):
        raise UsageError(
            f"--name {quoted(options.name)} is no name",
            hint="a name has up to 41 letters, digits, dots, dashes or underscores",
        )
    body, mark = _read(options.paths[0]), f"buildbot-bench:{options.name}"
    sites = {"github": _github, "gitlab": _gitlab, "gerrit": _gerrit, "phabricator": _phabricator}
    put = sites[options.on or _host(os.environ)]
    say(f"the comment is at {put(options, os.environ, body, mark)}")
    return ExitStatus.ANSWERED


def _read(path: str) -> str:
    """The report; with a mention in it nobody is written to, and no picture is fetched."""
    try:
        with Path("/dev/stdin" if path == "-" else path).open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{quoted(path)} cannot be read: {error.strerror}") from error
    if len(raw) > _MOST_BYTES or not raw.strip():
        what = "is empty" if len(raw) <= _MOST_BYTES else "has more than 1 MiB"
        raise UsageError(f"{quoted(path)} {what}", hint="name what --markdown printed")
    text = raw.decode("utf-8", "replace").replace("\0", "")
    return text.replace("<!--", "<\u200b!--").replace("@", "@\u200b").replace("![", "!\u200b[")


def _host(environ: Mapping[str, str]) -> str:
    if environ.get("GITHUB_ACTIONS") == "true":
        return "github"
    if environ.get("GITLAB_CI") == "true":
        return "gitlab"
    if "GERRIT_CHANGE_NUMBER" in environ:
        return "gerrit"
    raise UsageError(
        "this is no job of GitHub, GitLab or Jenkins for Gerrit",
        hint="name the site by --on, --url and --change",
    )


def _github(options: argparse.Namespace, environ: Mapping[str, str], body: str, mark: str) -> str:
    api = options.url or environ.get("GITHUB_API_URL", "https://api.github.com")
    repository, token = _named(environ, "GITHUB_REPOSITORY"), _named(environ, "GITHUB_TOKEN")
    event = _event(environ)
    number = options.change or (event.get("pull_request") or {}).get("number")
    if not number:
        run = event.get("workflow_run")
        if not isinstance(run, dict):
            raise UsageError(
                "the event is of no pull request", hint="run it `on: pull_request`, or --change"
            )
        number = find_pull_request(api, token, repository, run)
    return comment_on_github(api, token, repository, int(number), body=body, mark=mark)


def _event(environ: Mapping[str, str]) -> dict[str, Any]:
    path = environ.get("GITHUB_EVENT_PATH", "")
    try:
        event = json.loads(Path(path).read_text(encoding="utf-8")) if path else {}
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"GITHUB_EVENT_PATH {quoted(path)} cannot be read") from error
    return event if isinstance(event, dict) else {}


def _gitlab(options: argparse.Namespace, environ: Mapping[str, str], body: str, mark: str) -> str:
    project = environ.get("CI_MERGE_REQUEST_PROJECT_ID") or _named(environ, "CI_PROJECT_ID")
    api = options.url or _named(environ, "CI_API_V4_URL")
    number = options.change or _number(_named(environ, "CI_MERGE_REQUEST_IID"))
    return comment_on_gitlab(
        api, _named(environ, "BENCH_TOKEN"), project, number, body=body, mark=mark
    )


def _gerrit(options: argparse.Namespace, environ: Mapping[str, str], body: str, mark: str) -> str:
    url = options.url or _named(environ, "GERRIT_URL")
    change = options.change or _number(_named(environ, "GERRIT_CHANGE_NUMBER"))
    login = _named(environ, "BENCH_USER"), _named(environ, "BENCH_TOKEN")
    patch_set = environ.get("GERRIT_PATCHSET_REVISION", "current")
    return comment_on_gerrit(url, login, change, patch_set, body=body, mark=mark)


def _phabricator(
    options: argparse.Namespace, environ: Mapping[str, str], body: str, mark: str
) -> str:
    if not options.url or not options.change:
        raise UsageError("Phabricator needs --url and --change", hint="as in --change D8526")
    token = _named(environ, "BENCH_TOKEN")
    return comment_on_phabricator(options.url, token, options.change, body=body, mark=mark)


def _named(environ: Mapping[str, str], name: str) -> str:
    if value := environ.get(name):
        return value
    raise UsageError(f"{name} is not in the environment", hint="see `bench-comment --help`")


def _number(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text)
    raise UsageError(f"{quoted(text)} is no number of a change")
