"""What is known of the kernels that others built: the revisions of which the source has one."""

import time
from collections.abc import Callable

from twisted.internet.threads import deferToThread
from twisted.logger import Logger

from buildbot_bench.archives.prebuilt import PrebuiltSource, which_are_there
from buildbot_bench.core.errors import UntestableRevision
from buildbot_bench.core.revision import RevisionRange, name_in_repository
from buildbot_bench.workflow.settings import PrebuiltKernels

_LOG = Logger()
# Revisions of a range that the source is asked for, evenly over it: a hundred seconds of questions.
MOST_ASKED = 2000
# After so long it is asked again: it may work then, or have what it had not.
AGAIN_S = 1800.0


class Prebuilt:
    """One source; nothing is known of it before a search looks."""

    def __init__(self) -> None:
        self._settings: PrebuiltKernels | None = None
        self._known: dict[str, dict[str, bool]] = {}
        self._looking: set[tuple[str, str, str]] = set()
        self._looked: dict[tuple[str, str, str], float] = {}

    def use(self, settings: PrebuiltKernels | None) -> None:
        """Go by bench.yml from now on."""
        if settings != self._settings:
            self._settings = settings
            self._known, self._looked = {}, {}

    @property
    def is_used(self) -> bool:
        """Whether bench.yml names a source."""
        return self._settings is not None

    def named(self) -> PrebuiltSource:
        """The source that bench.yml names; raises UntestableRevision where it names none."""
        asked = self._settings
        if asked is None:
            raise UntestableRevision("bench.yml names no artefacts.prebuilt any more")
        return PrebuiltSource(
            pattern=asked.pattern, checksum=asked.checksum or "", ident=asked.ident or ""
        )

    def known(self, branch: str) -> frozenset[str]:
        """The commits of a branch of which the source is known to have a kernel."""
        return frozenset(sha for sha, there in self._known.get(branch, {}).items() if there)

    def looked(self, branch: str, span: RevisionRange, *, then: Callable[[], object]) -> bool:
        """Whether the source was asked for a range; it is asked now, if not, and `then` called."""
        place = (branch, span.old.sha, span.new.sha)
        if not self.is_used:
            return True
        if place in self._looking:
            return False
        if time.monotonic() - self._looked.get(place, -AGAIN_S) < AGAIN_S:
            return True
        known = self._known.setdefault(branch, {})
        shas = [one.sha for one in span.revisions if not known.get(one.sha)]
        step = max(1, -(-len(shas) // MOST_ASKED))
        self._looking.add(place)
        asked = tuple({*shas[::step], *shas[-1:]})
        found = deferToThread(which_are_there, self.named(), asked, name_in_repository(branch))
        found.addCallback(lambda there: known.update({sha: sha in there for sha in asked}))
        found.addErrback(
            lambda failure: _LOG.warn(
                "bench: kernels are built that may be there: {why}", why=failure.getErrorMessage()
            )
        )
        found.addBoth(lambda _: self._end(place, then))
        return False

    def _end(self, place: tuple[str, str, str], then: Callable[[], object]) -> None:
        self._looking.discard(place)
        self._looked[place] = time.monotonic()
        then()
