"""Know kernels by what they do, and not by builder or time; keep what their builder says."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add columns in place; the kernels of earlier images go on being known by their artefacts."""
    for name in ("kernel_digest", "manifest"):
        op.add_column("bench_image", sa.Column(name, sa.Text))


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
