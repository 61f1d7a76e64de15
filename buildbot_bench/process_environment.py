"""The environment of our processes: numeric libraries have one thread, git's hooks leave nothing.

The matrices here are small: more threads do not help. A master that forks while OpenBLAS's threads
calculate may never come back from it.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

LIMITS = dict.fromkeys(
    (
        "BLIS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    ),
    "1",
)
# What brings such a library into the process, and what brings another one: scipy has its own.
_LOADING = {"numpy": "numpy", "scipy": "scipy.linalg"}


class _Limited(SourceFileLoader):
    """Sets the environment while the library is loaded, and only then.

    What the process starts later is not ours to limit: it may be what is measured.
    """

    def exec_module(self, module: ModuleType) -> None:
        before = {name: os.environ.get(name) for name in LIMITS}
        os.environ.update(LIMITS)
        try:
            super().exec_module(module)
            importlib.import_module(_LOADING[module.__name__])
        finally:
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value


class OneThread:
    """Finds these libraries as Python does, and has them loaded with the limit."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """None of all other modules: Python finds them."""
        if fullname not in _LOADING:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Limited(spec.loader.name, spec.loader.path)
        return spec


def limit_imports() -> None:
    """Have what is imported from now on be limited; once is enough."""
    if not any(isinstance(finder, OneThread) for finder in sys.meta_path):
        sys.meta_path.insert(0, OneThread())


def limit_loaded() -> None:
    """Have what somebody else imported before us be limited, too."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - commands do without it

    threadpool_limits(1)


OF_ONE_REPOSITORY = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)
"""What `git rev-parse --local-env-vars` lists: variables that mean one repository alone."""


def leave_hook() -> None:
    """Remove these variables from the environment of this process, and of all that it starts."""
    for name in OF_ONE_REPOSITORY:
        os.environ.pop(name, None)
