"""Call the tables of judgements and of comparisons of variants by what they hold.

What was made of a sample is a judgement, and a comparison of variants is an A/B test; each workload
on a testbed is a series.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_UNIQUE = ("testbed", "workload", "new_sha", "old_sha")
_OLD_KEY = f"bench_comparison_{'_'.join(_UNIQUE)}_key"
_NEW_KEY = f"bench_judgement_{'_'.join(_UNIQUE)}_key"


def upgrade() -> None:
    """Rename in place; SQLite's judgements and marks are made anew, for the names of their keys."""
    _rename_ab_tests()
    if op.get_context().dialect.name == "sqlite":
        _remake_judgements()
    else:
        _rename_judgements()
    for column in ("state", "new_sha"):
        op.create_index(f"bench_judgement_{column}", "bench_judgement", [column])


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")


def _rename_column(table: str, old: str, new: str) -> None:
    # Alembic renames no column on SQLite in place, though SQLite itself does.
    op.execute(f"ALTER TABLE {table} RENAME COLUMN {old} TO {new}")


def _rename_ab_tests() -> None:
    op.rename_table("bench_trial", "bench_ab_test")
    _rename_column("bench_ab_test", "lanes", "series")
    op.drop_index("bench_trial_state", "bench_ab_test")
    op.create_index("bench_ab_test_state", "bench_ab_test", ["state"])
    for table in ("bench_probe", "bench_profile"):
        _rename_column(table, "trial_id", "ab_test_id")
        op.drop_index(f"{table}_trial_id", table)
        op.create_index(f"{table}_ab_test_id", table, ["ab_test_id"])
        # What is still asked for is found again by its key.
        op.execute(
            f"UPDATE {table} SET key = 'ab-test:' || substr(key, 7) WHERE key LIKE 'trial:%%'"  # noqa: S608
        )


def _rename_judgements() -> None:
    for column in ("state", "new_sha"):
        op.drop_index(f"bench_comparison_{column}", "bench_comparison")
    op.rename_table("bench_comparison", "bench_judgement")
    op.execute(f"ALTER TABLE bench_judgement RENAME CONSTRAINT {_OLD_KEY} TO {_NEW_KEY}")
    _rename_column("bench_mark", "comparison_id", "judgement_id")
    op.drop_index("bench_mark_comparison_id", "bench_mark")
    op.create_index("bench_mark_judgement_id", "bench_mark", ["judgement_id"])


def _remake_judgements() -> None:
    """Copy the judgements, then the marks, which refer to them; drop the old ones."""
    _create_judgement()
    _copy("bench_comparison", "bench_judgement")
    op.rename_table("bench_mark", "bench_mark_before")
    for column in ("search_id", "comparison_id", "pending"):
        op.drop_index(f"bench_mark_{column}", "bench_mark_before")
    _create_mark()
    _copy("bench_mark_before", "bench_mark")
    op.drop_table("bench_mark_before")
    op.drop_table("bench_comparison")


def _copy(before: str, after: str) -> None:
    """The columns stand in the same order."""
    op.execute(f"INSERT INTO {after} SELECT * FROM {before}")  # noqa: S608


def _create_judgement() -> None:
    op.create_table(
        "bench_judgement",
        sa.Column("id", sa.Integer, primary_key=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("testbed", "workload", "unit")),
        sa.Column("old_sha", sa.String(40), nullable=False),
        sa.Column("old_position", sa.Integer, nullable=False),
        sa.Column("new_sha", sa.String(40), nullable=False),
        sa.Column("new_position", sa.Integer, nullable=False),
        sa.Column("state", sa.String(24), nullable=False),
        *(
            sa.Column(name, sa.Double)
            for name in ("effect", "low", "high", "p_value", "probability")
        ),
        sa.Column("rounds", sa.Integer, nullable=False),
        sa.Column("verdict", sa.Text),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("changed_at", sa.Double, nullable=False),
        sa.Column("search_id", sa.Integer),
        sa.Column("version", sa.Integer, nullable=False),
        sa.UniqueConstraint(*_UNIQUE, name=_NEW_KEY),
        sa.ForeignKeyConstraint(
            ["search_id"], ["bench_search.id"], name="bench_judgement_search_id_fk"
        ),
    )


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
            for what in ("search", "judgement")
        ),
        sa.Column("kind", sa.String(24), nullable=False),
        sa.Column("fixed_sha", sa.String(40)),
        sa.Column("fixed_label", sa.Text),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("at_s", sa.Double, nullable=False),
        sa.Column("pending", sa.Boolean, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
    )
    for column in ("search_id", "judgement_id", "pending"):
        op.create_index(f"bench_mark_{column}", "bench_mark", [column])
