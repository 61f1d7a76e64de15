"""The fields that two dataclasses share by name, to make the one of the other."""

from dataclasses import fields
from typing import Any


def shared(kind: type, source: object) -> dict[str, Any]:
    """The values of the fields of dataclass `kind` that `source` has by the same names."""
    return {
        one.name: getattr(source, one.name) for one in fields(kind) if hasattr(source, one.name)
    }
