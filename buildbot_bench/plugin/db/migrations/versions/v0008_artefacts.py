"""Create the table of artefacts, with a row for each that an image names."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table; what lies there already is as old as its newest image."""
    op.create_table(
        "bench_artefact",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("stored_at", sa.Double, nullable=False),
        sa.UniqueConstraint("digest", name="bench_artefact_digest_key"),
    )
    op.execute(
        "INSERT INTO bench_artefact (digest, size, stored_at)"
        " SELECT digest, max(coalesce(size, 0)), max(changed_at) FROM bench_image"
        " WHERE state = 'built' AND digest IS NOT NULL GROUP BY digest"
    )


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
