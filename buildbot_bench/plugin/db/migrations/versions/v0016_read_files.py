"""Say of images which files their builds read, and of commits that they touch none of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a table and columns in place; of earlier builds nothing is known."""
    op.create_table(
        "bench_read_files",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("digest", name="bench_read_files_digest_key"),
    )
    op.add_column("bench_image", sa.Column("read_files", sa.String(64)))
    op.add_column("bench_image", sa.Column("built_by", sa.String(64)))
    op.add_column("bench_commit", sa.Column("no_op_of", sa.Text))


def downgrade() -> None:
    """Refuse: what builders reported is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
