"""The choice of artefacts to delete to save space."""

from collections.abc import Sequence
from dataclasses import dataclass

# What was built so lately is about to be booted, whoever it is for.
LEAST_AGE_S = 3600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    """One artefact. `needed`: somebody waits for it, or a report stands on it.

    `claimed`: an image says that it is there; else a master left it that died in the midst.
    """

    digest: str
    size: int
    stored_at_s: float
    needed: bool
    claimed: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class RetentionPolicy:
    """How old artefacts may become, in seconds, and how much all of them may take, in bytes."""

    keep_s: float | None = None
    max_bytes: int | None = None


def expired(stored: Sequence[Stored], policy: RetentionPolicy, now_s: float) -> tuple[Stored, ...]:
    """What is to be deleted, oldest first: what is too old, then as much as there is too much.

    What is needed, or younger than LEAST_AGE_S, stays however old or large.
    """
    left = sum(one.size for one in stored)
    chosen: list[Stored] = []
    for one in sorted(stored, key=lambda one: (one.stored_at_s, one.digest)):
        age_s = now_s - one.stored_at_s
        if one.needed or age_s < LEAST_AGE_S:
            continue
        is_old = policy.keep_s is not None and age_s > policy.keep_s
        is_much = policy.max_bytes is not None and left > policy.max_bytes
        if is_old or is_much or not one.claimed:
            chosen.append(one)
            left -= one.size
    return tuple(chosen)
