"""Mistakes in bench.yml in words: where each is, and what to write for GitHub Actions' words."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from buildbot_bench.core.legible import quoted

Place = tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One thing that is wrong, and the keys that lead to it from the top of the file.

    `of_key`: the last key itself is wrong, and not its value. `mark` is the line and
    the column within a long text, both from 1, where they are known better than by the keys.
    """

    place: Place
    message: str
    of_key: bool = False
    mark: tuple[int, int] | None = None


class RelationError(ValueError):
    """Parts that are well formed but do not fit together."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems


def nearest(word: str, known: Collection[str]) -> str:
    """`; did you mean 'matrix'?` or, when nothing is near, all of them."""
    if matches := get_close_matches(word, known, n=1, cutoff=0.5):
        return f"; did you mean '{matches[0]}'?"
    return f"; known here: {', '.join(known)}" if known else ""


def require(problems: Iterator[Problem]) -> None:
    """See that there is no problem."""
    if found := tuple(problems):
        raise RelationError(found)


CHECKOUT, UPLOAD = "checkout", "upload-artefact"

_CHECKOUTS = re.compile(r"actions/checkout(@[^@]*)?")
_UPLOADS = re.compile(r"(actions/)?upload-artifact(@[^@]*)?")


def our_action(uses: Any) -> Any:
    """`actions/checkout@v4` is `checkout`, `actions/upload-artifact@v4` is `upload-artefact`."""
    if isinstance(uses, str):
        if _CHECKOUTS.fullmatch(uses):
            return CHECKOUT
        if _UPLOADS.fullmatch(uses):
            return UPLOAD
    return uses


def is_upload(uses: Any) -> bool:
    """Whether a step's `uses` is meant to keep the artefact, also when it is misspelt."""
    return our_action(uses) == UPLOAD or str(uses).startswith("upload")


def action_problem(uses: Any) -> str:
    """What to say of an action that is none of ours."""
    text = f"{quoted(uses)}"
    if not isinstance(uses, str) or "/" not in uses:
        return f"should be 'checkout' or 'upload-artefact', not {text}"
    if re.match(r"actions/cache\b", uses):
        return f"{text} is not needed: what steps keep outside the source tree stays on the builder"
    if re.match(r"actions/(download-artifact|upload-pages-artifact|attest)\b", uses):
        return f"{text} is not known: the testbeds get the artefact that 'upload-artefact' keeps"
    if re.match(r"[\w.-]+/(setup|install)-", uses):
        return f"{text} is not known: install it on the builder, which stays as it is"
    return f"{text} is not known: write what it does as a 'run' step"


_MACHINES = re.compile(r"(ubuntu|windows|macos)-latest|self-hosted")


def machine_problem(word: str, *, builds: bool) -> str:
    """What to say of `runs-on: ubuntu-latest`; nothing of names that may be a farm's own."""
    if not _MACHINES.fullmatch(word):
        return ""
    whose = "the Buildbot worker that builds" if builds else "the testbed that measures"
    return f"'{word}' is GitHub's word for a machine: name {whose}"


EXPRESSION = re.compile(r"\$\{\{[^\n{}]{0,200}(?:\}\})?")

_BUILT = "a 'run' step finds the commit in $BENCH_SHA and its name in $BENCH_REVISION"
_NO_SECRETS = (
    "builds get no secrets: keep it in a file on the builder, and show it to the steps by 'sandbox'"
)
_SHARED = "steps share the source tree: write it to a file there"
# The first that a lower-case expression begins with says what to use.
_INSTEAD = (
    ("github.sha", "a 'run' step finds it in $BENCH_SHA"),
    ("github.token", _NO_SECRETS),
    ("github.workspace", "steps begin in the source tree: write ."),
    ("github.run", "$BENCH_REVISION and $BENCH_IMAGE tell builds apart"),
    ("github.repository", "write the name itself"),
    ("github.workflow", "write the name itself"),
    ("github.", _BUILT),
    ("secrets.", _NO_SECRETS),
    ("vars.", "set it under 'env', and write $NAME"),
    ("env.", "a 'run' step writes $NAME"),
    ("matrix.", "one build serves all workloads; 'runs-on' lists the testbeds"),
    ("steps.", _SHARED),
    ("needs.", _SHARED),
    ("job.", _BUILT),
    ("inputs.", "people ask by bench-bisect and bench-compare, without inputs"),
    ("runner.os", "a 'run' step asks uname -s"),
    ("runner.arch", "a 'run' step asks uname -m"),
    ("runner.temp", "a 'run' step asks mktemp"),
    ("hashfiles(", "what steps keep outside the source tree stays on the builder, without a key"),
)


def expression_problem(expression: str) -> str:
    """What to write in place of `${{ … }}`."""
    inside = expression.removeprefix("${{").removesuffix("}}").strip().lower()
    found = (said for begins, said in _INSTEAD if inside.startswith(begins))
    said = next(found, "write the value itself; builds have variables: $BENCH_SHA, $BENCH_REVISION")
    if name := re.fullmatch(r"env\.(\w+)", inside):
        upper = re.search(r"\w+$", expression.removesuffix("}}").strip())
        said = said.replace("NAME", upper[0] if upper else name[1])
    return f"expressions such as {quoted(expression)} are not computed here: {said}"


_REMOVE_PERMISSIONS = "remove it: a build gets no token; who may do what here stands in master.cfg"
_NO_CONDITION = "remove it: all commits are treated alike; on.push.paths chooses among them"
_ON_THE_BUILDER = "steps run on the builder itself: install it there; 'sandbox' says what they see"
_FAILURE = (
    "remove it: a commit that fails is untestable and stepped around; `command || true` goes on"
)
_SHELL = "remove it: a script runs by `sh -e`; call another shell in it"
_GROUP = "stands at the top of the file: concurrency: {cancel-in-progress: true}"
_PULL_REQUEST = "measure a change before it is in by bench-compare main main+file:my.patch"
_TAGS = "compare releases by bench-compare v1 v2"
_INDEPENDENT = "remove it: what is measured on one testbed does not depend on another"
_OTHER_JOBS = "remove it: a farm has one build, and jobs that measure it"

_JOB = {
    "if": _NO_CONDITION,
    "permissions": _REMOVE_PERMISSIONS,
    "services": _ON_THE_BUILDER,
    "container": _ON_THE_BUILDER,
    "continue-on-error": _FAILURE,
    "defaults": _SHELL,
    "concurrency": _GROUP,
    "outputs": f"remove it: {_SHARED}",
    "environment": "remove it: nothing is deployed",
    "name": "remove it: the job's key is its name",
    "uses": _OTHER_JOBS,
    "with": _OTHER_JOBS,
    "secrets": _NO_SECRETS,
}
_STEP = {
    "if": _NO_CONDITION,
    "id": f"remove it: {_SHARED}",
    "continue-on-error": _FAILURE,
    "timeout-minutes": "is the whole job's: write it beside 'steps'",
    "shell": _SHELL,
    "env": "is a 'run' step's",
    "working-directory": "is a 'run' step's",
}
_EVENT = "is no event here: commits arrive by 'push', time by 'schedule', people by bench-bisect"
# By the name of the model that lacks the key.
_KEYS: dict[str, dict[str, str]] = {
    "Workflow": {
        "permissions": _REMOVE_PERMISSIONS,
        "defaults": _SHELL,
        "run-name": "remove it: builds are named by their revision",
        "timeout-minutes": "is a job's",
        "runs-on": "is a job's",
        "services": _ON_THE_BUILDER,
        "container": _ON_THE_BUILDER,
    },
    "Triggers": {
        "pull_request": _PULL_REQUEST,
        "pull_request_target": _PULL_REQUEST,
        "merge_group": _PULL_REQUEST,
        "release": _TAGS,
        "create": _TAGS,
        "cron": "stands under 'schedule': [{cron: '0 3 * * *'}]",
    }
    | dict.fromkeys(
        (
            *("branch_protection_rule", "check_run", "check_suite", "delete", "deployment"),
            *("deployment_status", "discussion", "discussion_comment", "fork", "gollum"),
            *("issue_comment", "issues", "label", "milestone", "page_build", "public"),
            *("pull_request_review", "pull_request_review_comment", "registry_package"),
            *("repository_dispatch", "status", "watch", "workflow_call", "workflow_run"),
        ),
        _EVENT,
    ),
    "Push": {
        "tags": _TAGS,
        "tags-ignore": _TAGS,
        "branches-ignore": "exclude by 'branches': [main, 'stable/*', '!stable/9']",
    },
    "Dispatch": {"inputs": "remove it: people ask by bench-bisect and bench-compare"},
    "Schedule": {"timezone": "remove it: times are in UTC"},
    "Concurrency": {"group": "remove it: each branch is a group of its own"},
    "BuildJob": _JOB
    | {
        "needs": "remove it: a job with 'steps' builds; one that measures has none",
        "strategy": "remove it: one build serves all; the job that measures has the matrix",
        "iterations": "is of the job that measures",
    },
    "BenchJob": _JOB
    | {
        "env": "is of the job that builds; the lab's testbeds.toml says how it measures",
        "sandbox": "is of the job that builds",
    },
    "Strategy": {"fail-fast": _INDEPENDENT, "max-parallel": _INDEPENDENT},
    "Matrix": {
        "os": "'runs-on' lists the testbeds",
        "testbed": "'runs-on' lists the testbeds; include and exclude may name them",
        "iterations": "is the job's, or of an entry of 'include'",
    },
    "CheckoutStep": _STEP,
    "RunStep": {key: said for key, said in _STEP.items() if not said.startswith("is a 'run'")}
    | {"with": "is of a step that 'uses' something"},
    "UploadStep": _STEP,
    "CheckoutInputs": {
        "fetch-depth": "remove it: the whole history is there",
        "fetch-tags": "remove it: the whole history is there",
        "ref": "remove it: each build checks out the revision that is to be measured",
        "token": _NO_SECRETS,
        "ssh-key": _NO_SECRETS,
        "persist-credentials": "remove it: builds get no credentials",
        "path": "remove it: steps begin in the source tree",
        "submodules": "fetch them in a 'run' step: git submodule update --init",
        "lfs": "fetch it in a 'run' step: git lfs pull",
        "clean": "remove it: git cleans the source tree before each build",
    },
    "UploadInputs": {
        "name": "remove it: a build has one artefact",
        "retention-days": "is the farm's: artefacts: {retention: {keep-days: 30}}",
        "if-no-files-found": "remove it: without the file the build fails",
        "compression-level": "remove it",
        "overwrite": "remove it: a build has one artefact",
        "include-hidden-files": "remove it",
    },
}


def key_problem(model: str, key: str) -> str | None:
    """What to say of a key of GitHub's where a model of ours has none of that name."""
    return _KEYS.get(model, {}).get(key)
