"""Keep the figures that an ended search states, so that all pages and mails show one number."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column, which the broker fills for the searches that have ended.

    The index finds the searches around an alarm, which lie near the branch's end.
    """
    op.add_column("bench_search", sa.Column("stated", sa.Text))
    op.create_index("bench_search_branch_new_position", "bench_search", ["branch", "new_position"])


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
