"""The tables of release 1.0, as the schema has them until a second revision changes it.

Before you add that one, write these tables out here as they are: they never change again.
"""

from alembic import op

from buildbot_bench.plugin.db.schema import METADATA

revision = "first_a82753f65d47"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the tables, those first that others refer to."""
    METADATA.create_all(op.get_bind(), checkfirst=False)


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
