"""The location of the files that come with the package but lie beside it.

A checkout has them beside the package; a wheel has them in `_shipped`, laid out alike.
"""

from pathlib import Path

from buildbot_bench.core.errors import UsageError

_PACKAGE = Path(__file__).parent
_IN_CHECKOUT = _PACKAGE.parent
_INSTALLED = _PACKAGE / "_shipped"


def shipped(name: str) -> Path:
    """A file or directory of the project, as `master.cfg`; UsageError when there is none."""
    for home in (_INSTALLED, _IN_CHECKOUT):
        if (home / name).exists():
            return home / name
    raise UsageError(
        f"there is no {name} in {_INSTALLED} nor in {_IN_CHECKOUT}",
        hint="install buildbot-bench again, or run from a whole checkout",
    )
