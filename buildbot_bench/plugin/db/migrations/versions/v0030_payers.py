"""Keep who pays for the boots of a comparison: who extended it last, from then on."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add columns; what was asked for before is on the account of who began the comparison."""
    op.add_column("bench_ab_test", sa.Column("extended_by", sa.Text))
    op.add_column("bench_probe", sa.Column("budget_of", sa.Text))
    op.execute(
        "UPDATE bench_probe SET budget_of = (SELECT requester FROM bench_ab_test"
        " WHERE bench_ab_test.id = bench_probe.ab_test_id)"
        " WHERE ab_test_id IN (SELECT id FROM bench_ab_test WHERE limited)"
    )
    where = sa.text("budget_of IS NOT NULL")
    op.create_index(
        "bench_probe_budget",
        "bench_probe",
        ["budget_of", "issued_at"],
        sqlite_where=where,
        postgresql_where=where,
    )


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
