"""Let a comparison have two to sixteen variants: each is a row, the base's the first."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

_SIDES = ("base", "new")
_OF_A_SIDE = ("image_id", "tunables", "label")
_KEPT = (
    *("id", "series", "iterations", "confidence", "min_effect", "requester", "state", "detail"),
    *("created_at", "ended_at", "version", "decided_by"),
)


def upgrade() -> None:
    """Move both sides of each comparison, and the keys of the captures that were asked for."""
    if op.get_context().dialect.name == "sqlite":
        _remake()
    else:
        _create_variant()
        _move("bench_ab_test")
        op.add_column("bench_ab_test", sa.Column("resumed_at", sa.Double))
        for side in _SIDES:
            for what in _OF_A_SIDE:
                op.drop_column("bench_ab_test", f"{side}_{what}")
    for ordinal, side in enumerate(_SIDES):
        op.execute(
            "UPDATE bench_profile SET key ="  # noqa: S608
            f" substr(key, 1, length(key) - {len(side)}) || '{ordinal}'"
            f" WHERE key LIKE 'ab-test\\:%%\\:{side}'"
        )


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")


def _remake() -> None:
    """SQLite drops no column with a foreign key: the table is made anew under its name.

    Requests refer to it. Until they do so again, when all is back, nobody asks whether they do.
    """
    op.execute("PRAGMA defer_foreign_keys = ON")
    op.execute("CREATE TABLE bench_ab_test_before AS SELECT * FROM bench_ab_test")
    op.drop_table("bench_ab_test")
    _create_ab_test()
    kept = ", ".join(_KEPT)
    op.execute(f"INSERT INTO bench_ab_test ({kept}) SELECT {kept} FROM bench_ab_test_before")  # noqa: S608
    _create_variant()
    _move("bench_ab_test_before")
    op.drop_table("bench_ab_test_before")


def _create_ab_test() -> None:
    op.create_table(
        "bench_ab_test",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("series", sa.Text, nullable=False),
        sa.Column("iterations", sa.Integer, nullable=False),
        sa.Column("confidence", sa.Double, nullable=False),
        sa.Column("min_effect", sa.Double, nullable=False),
        sa.Column("requester", sa.Text, nullable=False),
        sa.Column("state", sa.String(24), nullable=False),
        sa.Column("detail", sa.Text),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("decided_by", sa.Text),
        sa.Column("resumed_at", sa.Double),
    )
    op.create_index("bench_ab_test_state", "bench_ab_test", ["state"])


def _create_variant() -> None:
    op.create_table(
        "bench_ab_test_variant",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("ab_test_id", sa.Integer, nullable=False),
        sa.Column("ordinal", sa.Integer, nullable=False),
        sa.Column("image_id", sa.Integer, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("tunables", "variant", "label")),
        sa.ForeignKeyConstraint(
            ["ab_test_id"], ["bench_ab_test.id"], name="bench_ab_test_variant_ab_test_id_fk"
        ),
        sa.ForeignKeyConstraint(
            ["image_id"], ["bench_image.id"], name="bench_ab_test_variant_image_id_fk"
        ),
        sa.UniqueConstraint(
            "ab_test_id", "ordinal", name="bench_ab_test_variant_ab_test_id_ordinal_key"
        ),
    )


def _move(source: str) -> None:
    """A label of before is the variant as it was written."""
    for ordinal, side in enumerate(_SIDES):
        op.execute(
            "INSERT INTO bench_ab_test_variant"  # noqa: S608
            " (ab_test_id, ordinal, image_id, tunables, variant, label)"
            f" SELECT id, {ordinal}, {side}_image_id, {side}_tunables, {side}_label, {side}_label"
            f" FROM {source} ORDER BY id"
        )
