"""The logs of the machines of one run, joined into one text and split again.

The text is the receiver's log alone, as in logs of earlier releases, or has a section for each
machine. Logs are hostile: separators of sections are taken out of them, and a log that is too long
keeps its beginning and its end.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Characters of one log that are kept: the longest of the archive's 17 857 has some 25 000.
LONGEST_LOG = 256 * 1024
MOST_SENDERS = 16
_MARK = "\x1c"  # ASCII's file separator, which no pkt-gen prints
_SECTION = re.compile(rf"{_MARK}(receiver|sender|remark)\n")
_CUT = re.compile(r"^\[\d+ characters are cut here\]$", re.MULTILINE | re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunLogs:
    """What the ends of a run printed; `remark` is what the lab says of the run."""

    receiver: str
    senders: tuple[str, ...] = ()
    remark: str = ""


def join_logs(logs: RunLogs) -> str:
    """One text of all of them, each no longer than LONGEST_LOG."""
    receiver = _harmless(logs.receiver)
    if not logs.senders and not logs.remark:
        return receiver
    return "".join(
        f"{_MARK}{name}\n{text}"
        for name, text in [
            ("receiver", receiver),
            *(("sender", _harmless(text)) for text in logs.senders[:MOST_SENDERS]),
            *([("remark", _harmless(logs.remark))] if logs.remark else []),
        ]
    )


def split_logs(text: str) -> RunLogs:
    """The logs that `join_logs` made one text of; any other text is the receiver's."""
    sections = list(_sections(text))
    if not sections:
        return RunLogs(receiver=text)
    by_name = {name: [body for one, body in sections if one == name] for name, _ in sections}
    return RunLogs(
        receiver="".join(by_name.get("receiver", [])),
        senders=tuple(by_name.get("sender", [])),
        remark="".join(by_name.get("remark", [])),
    )


def is_cut(log: str) -> bool:
    """Whether a log says that something of it was cut out."""
    return _CUT.search(log) is not None


def _sections(text: str) -> Iterator[tuple[str, str]]:
    found = list(_SECTION.finditer(text))
    if not found or found[0].start() != 0:
        return
    ends = [*(match.start() for match in found[1:]), len(text)]
    for match, end in zip(found, ends, strict=True):
        yield match[1], text[match.end() : end]


def _harmless(log: str) -> str:
    log = log.replace(_MARK, "\ufffd")
    cut = len(log) - LONGEST_LOG
    if cut <= 0:
        return log
    half = LONGEST_LOG // 2
    return f"{log[:half]}\n[{cut} characters are cut here]\n{log[-half:]}"
