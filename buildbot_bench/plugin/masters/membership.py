"""The leases of one master among several: its sign of life, and the right to run the broker."""

import os
import signal
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import uuid4

from buildbot.util.service import AsyncService
from buildbot.util.twisted import async_to_deferred
from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall, deferLater
from twisted.logger import Logger

from buildbot_bench.plugin.buildbot_fixes.router import RouterWatch
from buildbot_bench.plugin.db.leases import BROKER, must_hold
from buildbot_bench.plugin.db.store import BenchStore
from buildbot_bench.plugin.farm import SERVICE_NAME, Farm
from buildbot_bench.plugin.masters.gone import lease_of, put_back, put_back_of_all_gone

_LOG = Logger()

# A master that is silent for HOLD_S is gone: five beats, so that one slow transaction is not taken
# for a death, and another has its work well within a minute.
BEAT_S, HOLD_S = 4.0, 20.0
# A process that is to end and hangs is ended; its builds go on elsewhere long before.
END_S = 40.0
# Buildbot 4.3 closes its connection to the router while it still waits for answers from there, for
# ever: what is left when all builds have ended and the leases are given back is cut short.
STOP_S = 8.0
_NAME = f"{SERVICE_NAME}-masters"


class Membership(AsyncService):
    """Holds this master's leases; a child of the master, by the name of `membership_of`."""

    name = _NAME

    def __init__(self, farm: Farm) -> None:
        super().__init__()
        self._farm = farm
        self._reactor = farm.master.reactor
        self._router = RouterWatch(farm.master)
        self._own, self._token = lease_of(farm.master.masterid), uuid4().hex
        self._broker: str | None = None
        # Until the broker can be told, nobody is appointed here.
        self._resigned, self._ends, self._tidies = True, False, False
        self._beaten_at = self._steady_since = self._reactor.seconds()
        self._told: Callable[[Farm | None], None] = lambda _: None
        self._beats = LoopingCall(self._beat)
        self._beats.clock = self._reactor

    async def join(self) -> None:
        """Show that this master lives, from now on; wait for who puts its earlier work back."""
        store, us, waits = self._farm.store, self._farm.master.masterid, False
        while not await store.take_lease(self._own, token=self._token, masterid=us, hold_s=HOLD_S):
            if not waits:
                waits = True
                _LOG.info("bench: another master puts back what this one had begun; it waits")
            await deferLater(self._reactor, 1.0, lambda: None)
        if us in await store.busy_masters():
            await put_back(self._farm, us, token=self._token)

    def startService(self) -> Any:
        """Go on to show it."""
        started = super().startService()
        self._ended = self._beats.start(BEAT_S)
        return started

    @async_to_deferred
    async def stopService(self) -> None:
        """Show it no longer: all builds have ended."""
        is_lost = self._router.is_lost
        gone = Deferred.fromCoroutine(self._leave())
        self._farm.master.db.run_db_task(gone)  # else the tables are closed under it
        await gone
        super().stopService()  # of Twisted, which gives nothing to wait for
        if is_lost:
            self._end("the connection to the router is lost")

    async def _leave(self) -> None:
        self._resigned = True
        if self._beats.running:
            self._beats.stop()
            await self._ended
        await self._farm.unguarded.drop_lease(self._own, token=self._token)
        self._reactor.callLater(STOP_S, os._exit, 0)

    @property
    def own_store(self) -> BenchStore:
        """The tables, whose rows change only while this master is not taken for dead."""
        guard = partial(must_hold, name=self._own, token=self._token)
        return self._farm.unguarded.guarded(guard)

    def tell(self, appointed: Callable[[Farm | None], None]) -> None:
        """Call back with the farm as the broker may change it, or None when that is over."""
        self._told, self._resigned = appointed, False
        if self._broker is not None:
            appointed(self._brokers_farm(self._broker))

    async def resign(self) -> None:
        """Leave the broker to another master, until `tell` is called again."""
        self._resigned = True
        token, self._broker = self._broker, None
        if token is not None:
            await self._farm.unguarded.drop_lease(BROKER, token=token)

    @async_to_deferred
    async def _beat(self) -> None:
        self._note_pause()
        try:
            await self._router.look()
            if self._router.is_lost:
                self._end("the connection to the router is lost")
            elif await self._lives():
                self._note_pause()  # the answer waits for a database that is away
                await self._run_for_broker()
        except Exception:  # noqa: BLE001 - the database is away for a moment; the next beat asks it
            _LOG.failure("bench: this master could not renew its lease; it tries again")
        else:
            self._beaten_at = self._reactor.seconds()

    def _note_pause(self) -> None:
        now = self._reactor.seconds()
        if now - self._beaten_at > HOLD_S / 2:
            self._steady_since = now

    @property
    def _may_seize(self) -> bool:
        """Whether others were silent while we were not: the database may have been away for all."""
        return self._reactor.seconds() - self._steady_since >= HOLD_S

    async def _lives(self) -> bool:
        """Hold our own lease for longer; who has lost it is taken for dead, and has to be."""
        store, trouble = self._farm.unguarded, self._router.trouble
        if await store.renew_lease(self._own, token=self._token, hold_s=HOLD_S, trouble=trouble):
            return True
        self._end("it stood still for too long, and another master runs its builds")
        return False

    async def _run_for_broker(self) -> None:
        store, us = self._farm.unguarded, self._farm.master.masterid
        if self._broker is None:
            token = uuid4().hex
            if not self._resigned and await store.take_lease(
                BROKER, token=token, masterid=us, hold_s=HOLD_S, seize=self._may_seize
            ):
                self._broker = token
                if self._resigned:
                    await self.resign()
                else:
                    _LOG.info("bench: the broker runs on this master")
                    self._told(self._brokers_farm(token))
        elif not await store.renew_lease(BROKER, token=self._broker, hold_s=HOLD_S):
            _LOG.info("bench: the broker runs on another master")
            self._broker = None
            self._told(None)
        if self._broker is not None and self._may_seize and not self._tidies:
            self._tidies = True
            tidied = Deferred.fromCoroutine(put_back_of_all_gone(self._farm))
            tidied.addErrback(
                lambda failure: _LOG.failure(
                    "bench: what a master left could not be put back as yet", failure=failure
                )
            )
            tidied.addBoth(self._tidied)

    def _tidied(self, _result: object) -> None:
        self._tidies = False

    def _brokers_farm(self, token: str) -> Farm:
        guard = partial(must_hold, name=BROKER, token=token)
        return self._farm.through(self._farm.unguarded.guarded(guard))

    def _end(self, why: str) -> None:
        """End the process as `buildbot stop` does; what keeps it running starts it anew."""
        if self._ends:
            return
        self._ends = True
        self._broker = None
        self._told(None)
        _LOG.warn("bench: this master ends, to be started again: {reason}", reason=why)
        self._reactor.callLater(END_S, os._exit, 1)
        os.kill(os.getpid(), signal.SIGTERM)


def membership_of(master: Any) -> Membership | None:
    """A master's place among several; None when it is alone."""
    found: Membership | None = master.namedServices.get(_NAME)
    return found
