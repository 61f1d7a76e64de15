"""Index what each cycle of the broker asks for, so that it need not read what did not change."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

_FEW = (
    ("bench_probe_undone", ["state", "testbed", "workload"], "state IN ('lost', 'cancelled')"),
    ("bench_probe_failed", ["failure_kind", "image_id"], "failure_kind IS NOT NULL"),
)


def upgrade() -> None:
    """Add the indexes; that of images' positions gets their versions, too."""
    op.create_index("bench_commit_sha", "bench_commit", ["sha"])
    op.drop_index("bench_image_position", "bench_image")
    op.create_index("bench_image_position_version", "bench_image", ["position", "version"])
    op.create_index(
        "bench_judgement_state_new_position", "bench_judgement", ["state", "new_position"]
    )
    op.create_index("bench_judgement_search_id", "bench_judgement", ["search_id"])
    for name, columns, condition in _FEW:
        where = sa.text(condition)
        op.create_index(name, "bench_probe", columns, sqlite_where=where, postgresql_where=where)


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
