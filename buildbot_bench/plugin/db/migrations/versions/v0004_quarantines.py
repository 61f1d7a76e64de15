"""Create the table of quarantines, and let a mail be about something else than a search."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table; the table of mails is made anew on SQLite, which cannot drop a NOT NULL."""
    _create_quarantine()
    op.create_index("bench_probe_testbed_reason", "bench_probe", ["testbed", "reason"])
    op.add_column("bench_report", sa.Column("key", sa.Text))
    op.execute("UPDATE bench_report SET key = 'search:' || search_id")
    with op.batch_alter_table("bench_report") as report:
        report.alter_column("key", existing_type=sa.Text, nullable=False)
        report.alter_column("search_id", existing_type=sa.Integer, nullable=True)
        report.create_unique_constraint("bench_report_key_key", ["key"])


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")


def _create_quarantine() -> None:
    op.create_table(
        "bench_quarantine",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("probe_id", sa.Integer, nullable=False),
        sa.Column("testbed", sa.Text, nullable=False),
        sa.Column("workload", sa.Text, nullable=False),
        sa.Column("epoch", sa.Text, nullable=False),
        sa.Column("since_s", sa.Double, nullable=False),
        sa.Column("shift", sa.Double),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("begun_at", sa.Double, nullable=False),
        sa.Column("ended_at", sa.Double),
        sa.Column("ended_by", sa.Text),
        sa.Column("trusted", sa.Boolean, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.UniqueConstraint("probe_id", name="bench_quarantine_probe_id_key"),
        sa.ForeignKeyConstraint(
            ["probe_id"], ["bench_probe.id"], name="bench_quarantine_probe_id_fk"
        ),
    )
    op.create_index("bench_quarantine_testbed_since_s", "bench_quarantine", ["testbed", "since_s"])
