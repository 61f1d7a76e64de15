"""Create the first tables; never changed once released, even when schema.py is."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables, those first that others refer to."""
    _create_commit()
    _create_image()
    _create_search()
    _create_probe()
    _create_iteration()
    _create_comparison()
    _create_report()


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False)


def _maybe_text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text)


def _integer(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False)


def _maybe_integer(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer)


def _double(name: str) -> sa.Column[float]:
    return sa.Column(name, sa.Double, nullable=False)


def _maybe_double(name: str) -> sa.Column[float]:
    return sa.Column(name, sa.Double)


def _sha(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.String(40), nullable=False)


def _choice(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.String(24), nullable=False)


def _unique(table: str, *columns: str) -> sa.UniqueConstraint:
    return sa.UniqueConstraint(*columns, name="_".join([table, *columns, "key"]))


def _refers(table: str, column: str, to: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{to}.id"], name=f"{table}_{column}_fk")


def _table(name: str, *columns: sa.Column[Any] | sa.Constraint) -> None:
    op.create_table(name, sa.Column("id", sa.Integer, primary_key=True), *columns)


def _index(table: str, *columns: str) -> None:
    op.create_index("_".join([table, *columns]), table, list(columns))


def _create_commit() -> None:
    _table(
        "bench_commit",
        _text("branch"),
        _sha("sha"),
        _integer("position"),
        sa.Column("parent_sha", sa.String(40)),
        _maybe_integer("svn"),
        _text("subject"),
        _text("author"),
        sa.Column("committed_at_s", sa.BigInteger, nullable=False),
        sa.Column("important", sa.Boolean, nullable=False),
        _double("arrived_at"),
        _unique("bench_commit", "branch", "position"),
        _unique("bench_commit", "branch", "sha"),
    )
    _index("bench_commit", "svn")


def _create_image() -> None:
    _table(
        "bench_image",
        _sha("sha"),
        _text("variant"),
        _integer("ordinal"),
        _integer("position"),
        _text("label"),
        _choice("state"),
        _integer("attempt"),
        _maybe_integer("brid"),
        _maybe_text("reason"),
        _maybe_text("digest"),
        sa.Column("size", sa.BigInteger),
        _maybe_text("path"),
        _maybe_double("build_s"),
        _double("created_at"),
        _double("changed_at"),
        _integer("version"),
        _unique("bench_image", "variant", "ordinal"),
    )
    _index("bench_image", "position")
    _index("bench_image", "state")


def _create_search() -> None:
    _table(
        "bench_search",
        _maybe_text("key"),
        _text("branch"),
        _text("testbed"),
        _text("workload"),
        _text("unit"),
        _sha("old_sha"),
        _integer("old_position"),
        _sha("new_sha"),
        _integer("new_position"),
        _maybe_double("claimed"),
        _double("min_effect"),
        _double("error"),
        _choice("reason"),
        _text("requester"),
        _choice("state"),
        _maybe_text("answer"),
        _maybe_text("forecast"),
        _maybe_text("detail"),
        _double("created_at"),
        _maybe_double("ended_at"),
        _integer("version"),
        _unique("bench_search", "key"),
    )
    _index("bench_search", "state")
    _index("bench_search", "testbed", "workload")


def _create_probe() -> None:
    _table(
        "bench_probe",
        _text("key"),
        _text("token"),
        _integer("image_id"),
        _text("testbed"),
        _text("workload"),
        _text("epoch"),
        _integer("iterations"),
        _integer("priority"),
        _choice("reason"),
        _maybe_integer("search_id"),
        _choice("state"),
        _integer("attempt"),
        _maybe_integer("brid"),
        _maybe_text("failure"),
        _maybe_text("failure_kind"),
        _double("created_at"),
        _maybe_double("issued_at"),
        _maybe_double("ended_at"),
        sa.Column("judged", sa.Boolean, nullable=False),
        _integer("version"),
        _unique("bench_probe", "key"),
        _refers("bench_probe", "image_id", "bench_image"),
        _refers("bench_probe", "search_id", "bench_search"),
    )
    _index("bench_probe", "token")
    _index("bench_probe", "state", "judged")
    _index("bench_probe", "search_id")
    _index("bench_probe", "image_id", "testbed", "workload")


def _create_iteration() -> None:
    _table(
        "bench_iteration",
        _integer("probe_id"),
        _integer("image_id"),
        _text("testbed"),
        _text("workload"),
        _text("epoch"),
        _integer("ordinal"),
        _text("unit"),
        sa.Column("is_primary", sa.Boolean, nullable=False),
        _maybe_double("value"),
        _maybe_text("failure"),
        _double("at_s"),
        _double("duration_s"),
        _text("facts"),
        _text("log"),
        _unique("bench_iteration", "probe_id", "ordinal", "unit"),
        _refers("bench_iteration", "probe_id", "bench_probe"),
        _refers("bench_iteration", "image_id", "bench_image"),
    )
    _index("bench_iteration", "testbed", "workload", "image_id")


def _create_comparison() -> None:
    _table(
        "bench_comparison",
        _text("testbed"),
        _text("workload"),
        _text("unit"),
        _sha("old_sha"),
        _integer("old_position"),
        _sha("new_sha"),
        _integer("new_position"),
        _choice("state"),
        _maybe_double("effect"),
        _maybe_double("low"),
        _maybe_double("high"),
        _maybe_double("p_value"),
        _maybe_double("probability"),
        _integer("rounds"),
        _maybe_text("verdict"),
        _double("created_at"),
        _double("changed_at"),
        _maybe_integer("search_id"),
        _integer("version"),
        _unique("bench_comparison", "testbed", "workload", "new_sha", "old_sha"),
        _refers("bench_comparison", "search_id", "bench_search"),
    )
    _index("bench_comparison", "state")
    _index("bench_comparison", "new_sha")


def _create_report() -> None:
    _table(
        "bench_report",
        _integer("search_id"),
        _choice("state"),
        _text("message_id"),
        _text("subject"),
        _text("recipients"),
        sa.Column("message", sa.LargeBinary, nullable=False),
        _integer("attempts"),
        _maybe_text("last_error"),
        _double("next_try_at"),
        _double("created_at"),
        _maybe_double("sent_at"),
        _integer("version"),
        _unique("bench_report", "search_id"),
        _refers("bench_report", "search_id", "bench_search"),
    )
    _index("bench_report", "state", "next_try_at")
