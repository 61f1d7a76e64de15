"""Create the tables of patches and trials, and tell measurements with tunables from plain ones."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add tables and columns in place: no table that holds measurements is made anew."""
    _create_patch()
    _create_trial()
    for table in ("bench_probe", "bench_iteration"):
        plain = sa.Column("tunables", sa.Text, nullable=False, server_default="")
        op.add_column(table, plain)
    lane = ["testbed", "workload", "image_id"]
    op.create_index(
        "bench_iteration_testbed_workload_image_id_tunables", "bench_iteration", [*lane, "tunables"]
    )
    op.drop_index("bench_iteration_testbed_workload_image_id", "bench_iteration")
    # Alembic adds no column with a foreign key on SQLite, though SQLite itself does.
    op.execute(
        "ALTER TABLE bench_probe ADD COLUMN trial_id INTEGER"
        " CONSTRAINT bench_probe_trial_id_fk REFERENCES bench_trial (id)"
    )
    op.create_index("bench_probe_trial_id", "bench_probe", ["trial_id"])


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False)


def _double(name: str) -> sa.Column[float]:
    return sa.Column(name, sa.Double, nullable=False)


def _integer(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False)


def _create_patch() -> None:
    op.create_table(
        "bench_patch",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        _text("origin"),
        _text("requester"),
        _double("fetched_at"),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("digest", name="bench_patch_digest_key"),
    )


def _create_trial() -> None:
    sides = ("base", "new")
    op.create_table(
        "bench_trial",
        sa.Column("id", sa.Integer, primary_key=True),
        *(_integer(f"{side}_image_id") for side in sides),
        *(_text(f"{side}_{what}") for side in sides for what in ("tunables", "label")),
        _text("lanes"),
        _integer("iterations"),
        _double("confidence"),
        _double("min_effect"),
        _text("requester"),
        sa.Column("state", sa.String(24), nullable=False),
        sa.Column("detail", sa.Text),
        _double("created_at"),
        sa.Column("ended_at", sa.Double),
        _integer("version"),
        *(
            sa.ForeignKeyConstraint(
                [f"{side}_image_id"], ["bench_image.id"], name=f"bench_trial_{side}_image_id_fk"
            )
            for side in sides
        ),
    )
    op.create_index("bench_trial_state", "bench_trial", ["state"])
