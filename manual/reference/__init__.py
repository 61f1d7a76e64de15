"""Pages of reference as MyST text, made from what they describe."""

from collections.abc import Callable, Mapping

from manual.reference.action_text import action_text
from manual.reference.commands_text import commands_text
from manual.reference.freebsd_text import freebsd_text
from manual.reference.mails_text import mails_text
from manual.reference.metrics_text import metrics_text
from manual.reference.rest_text import rest_text
from manual.reference.tables_text import tables_text
from manual.reference.workflow_text import workflow_text

TEXTS: Mapping[str, Callable[[], str]] = {
    "action": action_text,
    "bench-yml": workflow_text,
    "commands": commands_text,
    "freebsd-releases": freebsd_text,
    "mails": mails_text,
    "metrics": metrics_text,
    "rest": rest_text,
    "tables": tables_text,
}

__all__ = ["TEXTS"]
