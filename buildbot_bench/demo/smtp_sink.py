"""A mail server that keeps each mail as a file, for demos and for trying out."""

import argparse
import asyncio
import itertools
import signal
import sys
from email import message_from_bytes, policy
from pathlib import Path

from aiosmtpd.smtp import SMTP, Envelope, Session

from buildbot_bench.core.legible import one_line


class Sink:
    """Keeps each mail as NNNN.eml in a directory, and says so on a line of its own."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        taken = [int(mail.stem) for mail in directory.glob("*.eml") if mail.stem.isdecimal()]
        self._ordinals = itertools.count(max(taken, default=0) + 1)

    async def handle_DATA(  # noqa: N802 - aiosmtpd's name
        self, _server: SMTP, _session: Session, envelope: Envelope
    ) -> str:
        """Keep one mail; its file is there whole or not at all."""
        content = envelope.original_content or b""
        path = self._directory / f"{next(self._ordinals):04}.eml"
        partial = path.with_suffix(".partial")
        partial.write_bytes(content)
        partial.replace(path)
        subject = message_from_bytes(content, policy=policy.default)["Subject"]
        recipients = ", ".join(envelope.rcpt_tos)
        print(
            f"{path}: to {one_line(recipients)}: {one_line(str(subject or '(no subject)'))}",
            flush=True,
        )
        return "250 kept"


async def serve(host: str, port: int, directory: Path) -> None:
    """Take mails until SIGINT or SIGTERM; port 0 lets the system choose one, which is printed."""
    sink = Sink(directory)
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for signum in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signum, stop.set)
    server = await loop.create_server(
        lambda: SMTP(sink, hostname="bench-sink", loop=loop), host, port
    )
    async with server:
        actual = server.sockets[0].getsockname()[1]
        print(f"takes mail at {host}:{actual}, keeps it in {directory}", flush=True)
        await stop.wait()


def main(argv: list[str] | None = None) -> int:
    """Run the sink; the exit status is 2 when it cannot listen or cannot write."""
    parser = argparse.ArgumentParser(prog="smtp_sink", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument("--port", type=int, default=2525, help="0 lets the system choose one")
    parser.add_argument("--dir", type=Path, default=Path("mails"), help="where mails are kept")
    arguments = parser.parse_args(argv)
    try:
        asyncio.run(serve(arguments.host, arguments.port, arguments.dir))
    except OSError as error:
        print(f"smtp_sink: {error}; try another --port or --dir", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
