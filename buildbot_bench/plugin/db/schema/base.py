"""What the tables share: their MetaData, names of constraints, and the column of changes.

They have their own MetaData, since Buildbot compares its own with the database. No foreign key
leads to Buildbot's tables: what was measured outlives the builds that measured it.
"""

from __future__ import annotations

import sqlalchemy as sa

DIGEST_LENGTH = 64

METADATA = sa.MetaData(
    naming_convention={
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ix": "%(table_name)s_%(column_0_N_name)s",
        "fk": "%(table_name)s_%(column_0_N_name)s_fk",
    }
)


def version() -> sa.Column[int]:
    """How often a row was changed, for compare-and-swap."""
    return sa.Column("version", sa.Integer, nullable=False, default=0)
