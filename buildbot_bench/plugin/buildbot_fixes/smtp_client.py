"""Twisted's SMTP client, without two defects.

To be filed with Twisted: "ESMTPSender misses a dot that opens a piece of the message" and
"An error after the mail was accepted is reported a second time, and logged" (mail/smtp.py).
"""

from io import BytesIO

from twisted.mail import smtp


class WholeMessage(BytesIO):
    """A message that is read in one piece, no matter what was asked for.

    Twisted doubles the dot at the start of a line piece by piece, so it misses one that opens a
    piece; the server would take it for the end of the mail. `is_sent`: the server has all of it.
    """

    is_sent = False

    def read(self, _size: int | None = -1, /) -> bytes:
        """All that is left."""
        return super().read()


class Sender(smtp.ESMTPSender):
    """Twisted's client, which after the mail was taken takes no notice of what still goes wrong.

    Its own would report an outcome that was reported already, and log that as an error.
    """

    def finishedFileTransfer(self, lastsent: bytes) -> None:
        """Note that the server has all of the mail, no matter what it says of it."""
        self.factory.file.is_sent = True
        super().finishedFileTransfer(lastsent)

    def sendError(self, exc: Exception) -> None:
        """End the attempt, unless it has ended well."""
        if self.factory.sendFinished:
            self.transport.abortConnection()
        else:
            super().sendError(exc)
