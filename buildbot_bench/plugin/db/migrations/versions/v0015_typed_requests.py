"""Say in columns what keys of requests to the lab said: the judgement, the number, the round."""

from __future__ import annotations

import re

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

# Keys of earlier releases: search:7:3, ab-test:7:apu:forwarding:3, control:apu:3, confirm:7:0:12; a
# request for what the lab still owed had a key that ended in ~ and the number of the round.
_ROUND = re.compile(r"~(\d+)$")
_SERIAL = re.compile(r"^(?:search:\d+|ab-test:\d+:.*|control:.*):(\d+)$")
_JUDGEMENT = re.compile(r"^confirm:(\d+):")


def upgrade() -> None:
    """Add columns in place; keys stay as they are, and are only compared from now on."""
    for name in ("serial", "round"):
        op.add_column(
            "bench_probe", sa.Column(name, sa.Integer, nullable=False, server_default="0")
        )
    # Alembic adds no column with a foreign key on SQLite, though SQLite itself does.
    op.execute(
        "ALTER TABLE bench_probe ADD COLUMN judgement_id INTEGER"
        " CONSTRAINT bench_probe_judgement_id_fk REFERENCES bench_judgement (id)"
    )
    names = ("id", "key", "serial", "round", "judgement_id")
    probe = sa.table("bench_probe", *(sa.column(name) for name in names))
    conn = op.get_bind()
    for number, key in conn.execute(sa.select(probe.c.id, probe.c.key)).all():
        if values := _read(key):
            conn.execute(sa.update(probe).where(probe.c.id == number).values(**values))


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")


def _read(key: str) -> dict[str, int]:
    """What a key of an earlier release says, by the names of columns."""
    values = {}
    if again := _ROUND.search(key):
        values["round"] = int(again[1])
    if which := _SERIAL.match(_ROUND.sub("", key)):
        values["serial"] = int(which[1])
    if judged := _JUDGEMENT.match(key):
        values["judgement_id"] = int(judged[1])
    return values
