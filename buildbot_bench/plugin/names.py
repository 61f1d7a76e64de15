"""The names that the plugin's parts call one another by in Buildbot."""


def bench_builder(testbed: str) -> str:
    """The builder whose builds measure on a testbed."""
    return f"bench/{testbed}"


def profile_builder(testbed: str) -> str:
    """The builder whose builds sample where the cycles go on a testbed."""
    return f"profile/{testbed}"
