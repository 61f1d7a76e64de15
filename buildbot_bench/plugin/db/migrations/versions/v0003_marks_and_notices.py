"""Create the tables of what people say of the robot, and of what it says on other sites."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add bench_mark and bench_notice; no other table is touched."""
    _create_mark()
    _create_notice()


def downgrade() -> None:
    """Refuse: what people said is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")


def _create_mark() -> None:
    op.create_table(
        "bench_mark",
        sa.Column("id", sa.Integer, primary_key=True),
        *(
            sa.Column(
                f"{what}_id",
                sa.Integer,
                sa.ForeignKey(f"bench_{what}.id", name=f"bench_mark_{what}_id_fk"),
            )
            for what in ("search", "comparison")
        ),
        sa.Column("kind", sa.String(24), nullable=False),
        sa.Column("fixed_sha", sa.String(40)),
        sa.Column("fixed_label", sa.Text),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("at_s", sa.Double, nullable=False),
        sa.Column("pending", sa.Boolean, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
    )
    for column in ("search_id", "comparison_id", "pending"):
        op.create_index(f"bench_mark_{column}", "bench_mark", [column])


def _create_notice() -> None:
    op.create_table(
        "bench_notice",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column(
            "search_id",
            sa.Integer,
            sa.ForeignKey("bench_search.id", name="bench_notice_search_id_fk"),
            nullable=False,
        ),
        sa.Column("kind", sa.String(24), nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("state", sa.String(24), nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("last_error", sa.Text),
        sa.Column("next_try_at", sa.Double, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("sent_at", sa.Double),
        sa.Column("version", sa.Integer, nullable=False),
        sa.UniqueConstraint(
            "search_id", "kind", "target", name="bench_notice_search_id_kind_target_key"
        ),
    )
    op.create_index("bench_notice_state_next_try_at", "bench_notice", ["state", "next_try_at"])
