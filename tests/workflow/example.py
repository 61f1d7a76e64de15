"""The smallest workflow, from which the tests make the others."""

from collections.abc import Callable

from buildbot_bench.workflow.model import Workflow

Loader = Callable[[str], Workflow]
Complaints = Callable[[str], list[str]]

SMALLEST = """\
name: Smallest
repository: src
jobs:
  kernel:
    runs-on: builder
    steps:
      - uses: checkout
      - run: make
      - uses: upload-artefact
        with: {path: kernel}
  bench:
    needs: kernel
    runs-on: embedded
    strategy: {matrix: {workload: forwarding}}
"""


def smallest_with(**replaced: str) -> str:
    """The smallest workflow with one line per argument written otherwise, found by its key."""
    lines = SMALLEST.splitlines()
    for key, value in replaced.items():
        start = key.replace("_", "-")
        place = next(i for i, line in enumerate(lines) if line.strip().startswith(f"{start}:"))
        indent = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
        lines[place] = f"{indent}{value}"
    return "\n".join(lines) + "\n"
