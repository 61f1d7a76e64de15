"""The page of the action's inputs and outputs, from action.yml."""

from pathlib import Path

from ruamel.yaml import YAML

from manual.reference.myst import code, plain, table

_ACTION = Path(__file__).parents[2] / "action.yml"


def action_text() -> str:
    """A table of inputs and one of outputs, in the file's order."""
    action = YAML(typ="safe").load(_ACTION.read_text("utf-8"))
    inputs = [
        (code(name), code(one["default"]) if one["default"] else "", plain(one["description"]))
        for name, one in action["inputs"].items()
    ]
    outputs = [(code(name), plain(one["description"])) for name, one in action["outputs"].items()]
    return "\n\n".join(
        (
            "## Inputs",
            table(("input", "default", "what it is"), inputs),
            "## Outputs",
            table(("output", "what it is"), outputs),
        )
    )
