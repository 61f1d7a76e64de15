"""The readable text of patches that await approval, made once for each digest."""

from __future__ import annotations

from collections import OrderedDict

from twisted.internet.defer import Deferred, DeferredLock
from twisted.internet.threads import deferToThread

from buildbot_bench.core.legible import spelled_out
from buildbot_bench.plugin.db.rows import PatchRow

# Characters of all texts that are kept: of four patches of the largest size (core.patch), or of
# some hundred of the usual one. Python takes one to four bytes for each.
KEPT_CHARACTERS = 16 * 1024 * 1024


class PatchTexts:
    """Patches spelled out, by their digests; the ones that were asked for last are kept."""

    def __init__(self, *, kept: int = KEPT_CHARACTERS) -> None:
        self._kept = kept
        self._known: OrderedDict[str, str] = OrderedDict()
        # Threads that spell out megabytes at once take the interpreter from the reactor.
        self._one_at_a_time = DeferredLock()

    def of(self, patch: PatchRow) -> Deferred[str]:
        """A patch for somebody who is to judge it, as `spelled_out` makes it."""
        return self._one_at_a_time.run(lambda: Deferred.fromCoroutine(self._of(patch)))

    async def _of(self, patch: PatchRow) -> str:
        text = self._known.pop(patch.digest, None)
        if text is None:
            text = await deferToThread(spelled_out, patch.body)
        self._known[patch.digest] = text
        while sum(map(len, self._known.values())) > self._kept:
            self._known.popitem(last=False)
        return text
