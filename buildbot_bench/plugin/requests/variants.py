"""Which commit, image and tunables a person means by a variant; patches are fetched here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import treq
from twisted.internet import defer, error, reactor
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure
from twisted.web.client import PotentialDataLoss, ResponseDone, ResponseFailed

from buildbot_bench.core.errors import InfraError, UsageError
from buildbot_bench.core.patch import MOST_BYTES, check_patch
from buildbot_bench.core.variant import (
    Change,
    PatchFile,
    Picked,
    Review,
    VariantSpec,
    is_built,
    parse_variant,
    recipe,
    tunables_text,
    write_variant,
)
from buildbot_bench.plugin.broker.ask import BuildTarget
from buildbot_bench.plugin.farm import Farm

TIMEOUT_S = 30.0

_TOO_LATE = (defer.CancelledError, error.TimeoutError, TimeoutError)
_NO_ANSWER = (
    *_TOO_LATE,
    error.ConnectError,
    error.ConnectionLost,
    error.ConnectionDone,
    error.DNSLookupError,
    ResponseFailed,
)


async def fetch_review(site: str, number: int, *, timeout_s: float = TIMEOUT_S) -> bytes:
    """The newest diff of a review, as the site gives it for download.

    Raises:
        UsageError: There is no such review, or it is no patch.
        InfraError: The site does not answer within `timeout_s`, or not with what was asked for.
    """
    name, hint = f"D{number}", f"or fetch it by hand and write +file:D{number}.diff"
    url = f"{site.rstrip('/')}/{name}?download=true"
    try:
        response = await treq.get(url, timeout=timeout_s, unbuffered=True)
        if response.code == 404:
            raise UsageError(f"{site} has no review {name}", hint="check its number")
        if response.code != 200:
            raise InfraError(f"{site} answers {name} with HTTP {response.code}", hint=hint)
        reader = _Reader()
        response.deliverBody(reader)
        body = await reader.done.addTimeout(timeout_s, reactor)
    except _NO_ANSWER as reason:
        raise InfraError(f"cannot fetch {name} from {site}: {_why(reason)}", hint=hint) from reason
    check_patch(body, f"what {site} gives for {name}")
    return body


def _why(reason: BaseException) -> str:
    causes = [failure.value for failure in getattr(reason, "reasons", ())] or [reason]
    if any(isinstance(cause, _TOO_LATE) for cause in causes):
        return "no answer in time"
    return str(causes[0]) or type(causes[0]).__name__


class _Reader(Protocol):
    """Collects a body, and hangs up when it is longer than what is taken."""

    def __init__(self) -> None:
        self.done = defer.Deferred[bytes](lambda _: self._hang_up())
        self._body = bytearray()

    def dataReceived(self, data: bytes) -> None:
        self._body += data
        if len(self._body) > MOST_BYTES:
            self._hang_up()
            self._end()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        if reason.check(ResponseDone, PotentialDataLoss):
            self._end()
        elif not self.done.called:
            self.done.errback(reason)

    def _end(self) -> None:
        if not self.done.called:
            self.done.callback(bytes(self._body))

    def _hang_up(self) -> None:
        if self.transport is not None:
            self.transport.loseConnection()


@dataclass(frozen=True, kw_only=True, slots=True)
class Variant:
    """What is built, what is set when it runs, and what people call the two together."""

    built: BuildTarget
    tunables: str
    label: str


async def find_variant(
    farm: Farm, text: str, *, patches: Mapping[str, bytes], requester: str
) -> Variant:
    """The variant that a person wrote; `patches` holds the files that came with the question.

    Raises UsageError for what cannot be understood or had, InfraError when the reviews' site or
    the mirror does not answer.
    """
    spec = parse_variant(text)
    await farm.mirroring.ready()
    revision = await farm.git(farm.history.resolve, text.partition("+")[0])
    digests: dict[Change, str] = {}
    for change in spec.changes:
        match change:
            case Review() | PatchFile() | Picked():
                body, origin = await _patch(farm, change, patches)
                kept = await farm.store.add_patch(
                    body=body, origin=origin, requester=requester, now=farm.now()
                )
                digests[change] = kept.digest
    built = VariantSpec(base=spec.base, changes=tuple(filter(is_built, spec.changes)))
    return Variant(
        built=BuildTarget(
            sha=revision.sha,
            position=revision.position,
            label=write_variant(built, base=revision.label),
            variant=recipe(revision.sha, spec.changes, digests).text,
        ),
        tunables=tunables_text(spec.changes),
        label=write_variant(spec, base=revision.label),
    )


async def _patch(
    farm: Farm, change: Review | PatchFile | Picked, sent: Mapping[str, bytes]
) -> tuple[bytes, str]:
    """The bytes of a patch and where they are from.

    Raises:
        UsageError: The file was not sent, the farm knows no site of reviews, or it is no patch.
    """
    match change:
        case PatchFile(name=name):
            if name not in sent:
                raise UsageError(f"the file {name} did not come with the question")
            check_patch(sent[name], name)
            return sent[name], name
        case Picked(revision=revision):
            fix = await farm.git(farm.history.resolve, revision)
            name = f"commit:{fix.short_sha}"
            body = await farm.git(farm.history.patch, fix)
            check_patch(body, name)
            return body, name
        case Review(number=number):
            site = farm.workflow.reviews
            if site is None:
                raise UsageError(
                    f"this farm does not know where D{number} is reviewed",
                    hint="let its bench.yml say reviews: https://reviews.freebsd.org, "
                    "or give the patch as +file:NAME",
                )
            return await fetch_review(site, number), f"D{number}"
