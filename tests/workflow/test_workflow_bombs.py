"""A bench.yml that is small as it is written and large as it is read is refused in words."""

from pathlib import Path
from time import process_time

import pytest

from buildbot_bench.core.errors import UsageError
from buildbot_bench.core.limits import WORKFLOW_BYTES
from buildbot_bench.workflow.load import load

ALIASES = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
)
BOMBS = {
    "aliases": (f"{ALIASES}env: *a8\n", "more than 50000 values"),
    "itself": ("a: &a [*a]\n", ":1:4: an alias stands for what it is a part of"),
    "lists": ("[" * 5000, "is nested deeper than 50 levels|is not YAML"),
    "closed lists": ("env: " + "[" * 100 + "]" * 100, "is nested deeper than 50 levels"),
    "many closed lists": ("env: " + "[" * 3000 + "]" * 3000, "is nested deeper than 50 levels"),
    "mappings": ("".join(" " * n + f"k{n}:\n" for n in range(400)), "nested deeper|is not YAML"),
    "size": ("# " + "x" * WORKFLOW_BYTES, "more than 1 MiB"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_before_it_is_read(tmp_path: Path, name: str) -> None:
    text, reason = BOMBS[name]
    path = tmp_path / "bench.yml"
    path.write_text(text, encoding="utf-8")
    began = process_time()
    with pytest.raises(UsageError, match=reason):
        load(path)
    assert process_time() - began < 20
