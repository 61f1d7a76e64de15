"""The first revision: the tables as the schema has them.

It is edited in place, with the schema, until the first release; then it is written out and never
changed again. Its name tells the states of the unreleased schema apart.
"""

import hashlib

from alembic import op

from buildbot_bench.plugin.db.schema import METADATA

_columns = (
    f"{table.name}.{column.name}" for table in METADATA.tables.values() for column in table.c
)
revision = f"first_{hashlib.sha256(' '.join(sorted(_columns)).encode()).hexdigest()[:12]}"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables, those first that others refer to."""
    METADATA.create_all(op.get_bind(), checkfirst=False)


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
