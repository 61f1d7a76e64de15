"""All kinds of mail side by side, as the tests of mails have them."""

from email import message_from_bytes, policy
from pathlib import Path

_MAILS = Path(__file__).parents[2] / "tests" / "golden" / "mail"
# Of those without a file of the whole mail, the letter alone is kept.
_KINDS = {
    "A culprit": "culprit.eml",
    "A culprit on a stable branch": "branch.eml",
    "A culprit of a program's benchmark": "command.eml",
    "One of several commits, which cannot be told apart": "suspects.eml",
    "Many commits together": "slope.eml",
    "The change did not come again": "not-reproduced.eml",
    "No answer yet": "inconclusive.txt",
    "A branch that does not boot": "breakage.txt",
    "The branch boots again": "recovery.txt",
    "A workload that is broken": "workload.eml",
    "A lab that is out of control": "quarantine.eml",
    "A lab whose control image fails": "quarantine-silent.txt",
    "A testbed that measures nothing": "silence.txt",
    "The master stood still": "hang.txt",
    "The week's improvements": "digest.eml",
    "The farm is alive": "alive.txt",
}


def mails_text() -> str:
    """A heading and the plain text of each kind, with its subject where that is kept."""
    return "\n\n".join(f"### {kind}\n\n{_shown(_MAILS / name)}" for kind, name in _KINDS.items())


def _shown(path: Path) -> str:
    text = path.read_text("utf-8") if path.suffix == ".txt" else _letter(path)
    return f"~~~~text\n{text.rstrip()}\n~~~~"


def _letter(path: Path) -> str:
    mail = message_from_bytes(path.read_bytes(), policy=policy.default)
    body = mail.get_body(("plain",))
    if body is None:
        raise ValueError(f"{path} has no plain text")
    return f"Subject: {mail['Subject']}\n\n{body.get_content()}"
