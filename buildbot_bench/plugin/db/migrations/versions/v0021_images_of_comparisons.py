"""Let a comparison boot further images of its variants; those of before keep the one they have."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table of further images, and how many a variant may have."""
    op.add_column(
        "bench_ab_test", sa.Column("images", sa.Integer, nullable=False, server_default="1")
    )
    op.create_table(
        "bench_ab_test_image",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("ab_test_id", sa.Integer, nullable=False),
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("testbed", sa.Text, nullable=False),
        sa.Column("workload", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("image_id", sa.Integer, nullable=False),
        sa.Column("boots", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(
            ["ab_test_id"], ["bench_ab_test.id"], name="bench_ab_test_image_ab_test_id_fk"
        ),
        sa.ForeignKeyConstraint(
            ["image_id"], ["bench_image.id"], name="bench_ab_test_image_image_id_fk"
        ),
        sa.UniqueConstraint(
            *("ab_test_id", "place", "testbed", "workload", "number"),
            name="bench_ab_test_image_key",
        ),
    )
    op.create_index("bench_ab_test_image_image_id", "bench_ab_test_image", ["image_id"])


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
