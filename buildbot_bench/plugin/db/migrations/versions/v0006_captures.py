"""Create the tables of captures, of where a DUT's cycles went, and of the requests for them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add bench_capture and bench_profile; no other table is touched."""
    op.create_table(
        "bench_capture",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("counter", sa.Text, nullable=False),
        sa.Column("taken_at", sa.Double, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("digest", name="bench_capture_digest_key"),
    )
    owners = ("image", "search", "trial")
    op.create_table(
        "bench_profile",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("token", sa.Text, nullable=False),
        *(sa.Column(f"{owner}_id", sa.Integer, nullable=owner != "image") for owner in owners),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("testbed", "workload", "tunables")),
        sa.Column("state", sa.String(24), nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("brid", sa.Integer),
        sa.Column("failure", sa.Text),
        sa.Column("digest", sa.String(64)),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double),
        sa.Column("version", sa.Integer, nullable=False),
        sa.UniqueConstraint("key", name="bench_profile_key_key"),
        *(
            sa.ForeignKeyConstraint(
                [f"{owner}_id"], [f"bench_{owner}.id"], name=f"bench_profile_{owner}_id_fk"
            )
            for owner in owners
        ),
    )
    for column in ("state", "search_id", "trial_id"):
        op.create_index(f"bench_profile_{column}", "bench_profile", [column])


def downgrade() -> None:
    """Refuse: what was sampled is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
