"""Settings in bench.yml: control images, links, mail, shares, storage, untrusted people."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Annotated, Self

from pydantic import AfterValidator, Field, StringConstraints, field_validator, model_validator

from buildbot_bench.archives.prebuilt import checked_pattern
from buildbot_bench.core.json_model import shared
from buildbot_bench.core.legible import quoted
from buildbot_bench.core.links import Links, check_template
from buildbot_bench.core.sharing import Weights
from buildbot_bench.workflow.fields import (
    PLACE_PATTERN,
    Address,
    Model,
    Name,
    OneOrMore,
    PathPattern,
    Seconds,
    Text,
    alone,
    checked,
)
from buildbot_bench.workflow.problems import Problem, nearest

DAY_S = 24 * 3600.0


class Control(Model):
    """A kernel that is measured again and again: it shows whether the testbed works."""

    revision: Text
    """The revision of the control image, one that stays: r311848, a tag, a hash."""
    every: Annotated[Seconds, Field(gt=0)] = DAY_S
    """How often it is measured: 1d, 12h."""
    iterations: Annotated[int, Field(ge=1, le=100)] = 3
    """How many boots each time."""
    workload: Name | None = None
    """What is measured; the first workload of the testbed unless it is named."""
    owner: Address | None = None
    """Who is told when the testbed is out of control; else whoever answers for the farm."""


def control_problems(
    controls: Mapping[str, Control | None], workloads: Mapping[str, Collection[str]]
) -> Iterator[Problem]:
    """Whether each testbed's control measures what some job does; `workloads` of each testbed."""
    for name, control in controls.items():
        if control is None:
            continue
        place, known = ("testbeds", name, "control"), workloads[name]
        asked = control.workload
        if not known:
            yield Problem(place=place, message=f"no job measures on '{name}'")
        elif asked is not None and asked not in known:
            message = f"no job measures '{asked}' on '{name}'{nearest(asked, known)}"
            yield Problem(place=(*place, "workload"), message=message)


def owner_problems(controls: Mapping[str, Control | None]) -> Iterator[Problem]:
    """What to say of owners where nobody is mailed."""
    for name, control in controls.items():
        if control is not None and control.owner is not None:
            place = ("testbeds", name, "control", "owner")
            yield Problem(place=place, message="gets no mail: the farm has no 'mail'")


def unknown_testbeds(asked: Iterable[str], testbeds: Collection[str]) -> Iterator[Problem]:
    """What to say of testbeds that are asked for a second opinion and not declared."""
    place = ("regression", "second-opinion")
    for name in asked:
        if name not in testbeds:
            message = f"there is no testbed '{name}'{nearest(name, testbeds)}"
            yield Problem(place=place, message=message)


def _template(name: str) -> AfterValidator:
    return checked(lambda template: check_template(template, name))


class LinkTemplates(Model):
    """URL templates of the repository's pages; the repository's own URL tells those not stated.

    It tells them of GitHub, GitLab, cgit and Phabricator.
    """

    commit: Annotated[Text, _template("commit_url")] | None = None
    """A commit's page: https://git.example.org/src/commit/?id={commit}."""
    review: Annotated[Text, _template("review_url")] | None = None
    """A review's page: https://reviews.example.org/{review}, which is D8526 of Phabricator, or
    https://git.example.org/pulls/{review}, which is the number of a pull request."""
    diff: Annotated[Text, _template("diff_url")] | None = None
    """What a commit changed: https://git.example.org/src/diff/?id={commit}."""
    file: Annotated[Text, _template("file_url")] | None = None
    """A line of a file: https://git.example.org/src/tree/{path}?id={commit}#n{line}."""

    @property
    def links(self) -> Links:
        """The same in the core's words."""
        return Links(
            commit_url=self.commit or "",
            review_url=self.review or "",
            diff_url=self.diff or "",
            file_url=self.file or "",
        )


class Mail(Model):
    """Who gets mails on culprits, and through which server."""

    from_: Address
    to: OneOrMore[Address]
    reply_to: Address | None = None
    """A person who answers for the farm: where the answers of those who are mailed go."""
    to_author: bool = False
    """Also tell the author of the culprit, by the address in the commit, if it is a valid one.
    Off by default: whoever may push to the repository then chooses whom the farm writes to."""
    to_committer: bool = False
    """Also tell who committed the culprit, as `to-author` tells its author."""
    paths: dict[PathPattern, OneOrMore[Address]] = Field(default_factory=dict)
    """Who else is told when a suspect touches a path; GitHub's patterns."""
    smtp_host: Text = "localhost"
    smtp_port: Annotated[int, Field(gt=0, lt=65536)] = 25
    starttls: bool = False
    """Refuse to speak to the server in the clear."""
    user: Text | None = None
    """The name to log in with; needs password-secret."""
    password_secret: Name | None = None
    """The name of the Buildbot secret that holds the password; never the password itself."""

    @field_validator("paths")
    @classmethod
    def _each_path_takes_something(
        cls, paths: dict[str, tuple[str, ...]]
    ) -> dict[str, tuple[str, ...]]:
        if taken_back := [pattern for pattern in paths if pattern.startswith("!")]:
            raise ValueError(f"{quoted(taken_back[0])} takes nothing: write a pattern without '!'")
        return paths

    @model_validator(mode="after")
    def _login_is_whole(self) -> Self:
        if (self.user is None) != (self.password_secret is None):
            raise ValueError("'user' and 'password-secret' need each other")
        return self


Share = Annotated[float, Field(gt=0, le=1000)]


class Sharing(Model):
    """What share of a testbed each has against the others that want it at the same time."""

    alarms: Share = Weights().alarms
    """All searches that alarms began, and boots that confirm them, together."""
    searches: Share = Weights().searches
    """The searches of each person."""
    commits: Share = Weights().commits
    """Measuring each commit."""
    comparisons: Share = Weights().comparisons
    """The comparisons of each person."""

    @property
    def weights(self) -> Weights:
        """The same in the core's words."""
        return Weights(**shared(Weights, self))


PlaceUrl = Annotated[str, StringConstraints(pattern=PLACE_PATTERN)]


class RetentionLimits(Model):
    """What is deleted. A kernel that is asked for again is built again.

    Kernels of culprits and of the ends of searches, and what somebody waits for, always stay.
    """

    keep_days: Annotated[int, Field(ge=1)] | None = None
    """Older kernels are deleted."""
    max_gib: Annotated[float, Field(gt=0)] | None = None
    """When there is more than this, the oldest kernels are deleted."""
    logs_days: Annotated[int, Field(ge=1)] | None = None
    """The logs of older boots are deleted, but for those on which a report or a comparison stands.
    What the boots measured stays."""


class PrebuiltKernels(Model):
    """Kernels that others built: a search boots those first, and builds near what they show."""

    pattern: Annotated[str, AfterValidator(checked_pattern)]
    """Where they lie: a URL or an absolute path with `{hash}`, or `{short}` for its first twelve
    digits, and `{branch}` if it is needed, in which stable/14 is stable-14:
    https://artifact.ci.freebsd.org/snapshot/{branch}/{hash}/amd64/amd64/kernel.txz."""
    checksum: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,100}$")] | None = None
    """The file beside it that states its SHA-256: `MANIFEST`, or `.sha256` for what has the
    kernel's own name in front. Without it nothing tells a damaged kernel from a whole one."""
    ident: Name | None = None
    """The configuration that the kernels must name: GENERIC-NODEBUG. Without it, any."""


class ArtefactStorage(Model):
    """Where kernels lie, and for how long."""

    place: PlaceUrl | None = None
    """`https://…`, a server that takes PUT, GET, HEAD and DELETE below this URL, or
    `s3+https://HOST/BUCKET`. Without it, the master's disk."""
    token_secret: Name | None = None
    """The Buildbot secret that lets in: a bearer token, or ACCESS-KEY:SECRET-KEY for S3."""
    region: Name = "us-east-1"
    """S3's name for where its servers stand."""
    retention: RetentionLimits = RetentionLimits()
    """Without it nothing is deleted."""
    prebuilt: PrebuiltKernels | None = None
    """Kernels of the first repository that need not be built. They are another kind of image: what
    is said of a commit is proved by own builds."""

    @model_validator(mode="after")
    def _place_and_secret_fit(self) -> Self:
        if self.token_secret is not None and self.place is None:
            raise ValueError("'token-secret' needs 'place'")
        if self.token_secret is None and (self.place or "").startswith("s3+"):
            raise ValueError("S3 needs 'token-secret'")
        return self


Storing = Annotated[ArtefactStorage, alone("place", ArtefactStorage | PlaceUrl)]
"""`artefacts: URL` is `artefacts: {place: URL}`."""


class UntrustedLimits(Model):
    """What one person without the role `approve` may have on the farm at a time."""

    patch_mib: Annotated[float, Field(gt=0, le=1024)] = 16.0
    """How much their patches may have that the farm keeps, in MiB."""
    comparisons: Annotated[int, Field(ge=1, le=1000)] = 5
    """How many of their comparisons may run or await approval."""
    boots_a_day: Annotated[int, Field(ge=1, le=100_000)] = 200
    """How many boots their comparisons get within 24 hours."""
    keep_days: Annotated[int, Field(ge=1)] = 14
    """Patches that nobody has approved by then are rejected and deleted."""
