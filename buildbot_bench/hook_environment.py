"""Removes the variables that git sets for its hooks from the environment of our processes."""

import os

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
