"""A network between two processes that drops and delays: a TCP relay in a thread of its own."""

import asyncio
import threading
from contextlib import suppress

from tests.ports import free_port

HOST = "127.0.0.1"
_CHUNK = 1 << 16  # bytes
_LOOK_S = 0.02


class Relay:
    """Passes on what comes to `port`. It may hold all back, take its time, or drop connections."""

    def __init__(self, target: int) -> None:
        self.port = free_port()
        self.holds = False
        self.delay_s = 0.0
        self._target = target
        self._open: set[asyncio.StreamWriter] = set()
        self._listening = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def start(self) -> None:
        """Listen."""
        self._thread.start()
        self._listening.wait()

    def stop(self) -> None:
        """Drop all connections, and listen no more."""
        if self._listening.is_set():
            self.drop()
            self._loop.call_soon_threadsafe(self._ended.set)
            self._thread.join()

    def drop(self) -> int:
        """Break all connections off; says how many there were."""
        number = len(self._open)
        self._loop.call_soon_threadsafe(self._drop_all)
        return number

    def _drop_all(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        async with await asyncio.start_server(self._connected, HOST, self.port):
            self._listening.set()
            await self._ended.wait()

    async def _connected(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        try:
            far, on = await asyncio.open_connection(HOST, self._target)
        except OSError:
            back.transport.abort()
            return
        both = {back, on}
        self._open |= both
        try:
            await asyncio.gather(self._pass(near, on), self._pass(far, back))
        finally:
            self._open -= both
            for writer in both:
                writer.transport.abort()

    async def _pass(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while piece := await source.read(_CHUNK):
                await asyncio.sleep(self.delay_s)
                while self.holds:  # noqa: ASYNC110 - it is set from another thread
                    await asyncio.sleep(_LOOK_S)
                target.write(piece)
                await target.drain()
        with suppress(OSError, RuntimeError):
            target.write_eof()
