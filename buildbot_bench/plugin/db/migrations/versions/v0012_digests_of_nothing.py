"""Forget the digests that say of different kernels that they are one."""

from __future__ import annotations

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

# The SHA-256 of nothing: what was taken for an archive without a member had this.
_OF_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def upgrade() -> None:
    """Let the artefact's own digest tell such kernels from one another, as in earlier releases."""
    op.execute(f"UPDATE bench_image SET kernel_digest = NULL WHERE kernel_digest = '{_OF_NOTHING}'")  # noqa: S608


def downgrade() -> None:
    """Refuse: what was measured is not thrown away."""
    raise NotImplementedError("restore a backup instead of going back")
