"""Write the manual pages and completions anew: python -m manual."""

from pathlib import Path

import shtab

from manual.parsers import completed, local_parsers, parsers
from manual.roff import page

HOME = Path(__file__).parent
# Where the files of a shell lie, and how the shell wants them called.
SHELLS = {"bash": "{}", "fish": "{}.fish", "zsh": "_{}"}


def generated() -> dict[Path, str]:
    """What each file beneath this directory is to say."""
    made, local, whole = parsers(), local_parsers(), completed()
    files: dict[Path, str] = {}
    for name, parser in made.items():
        files[Path("man1", f"{name}.1")] = page(
            parser, [one for one in made if one != name], local.get(name)
        )
        for shell, form in SHELLS.items():
            text = shtab.complete(whole[name], shell=shell)
            lines = (line.rstrip() for line in text.splitlines())
            files[Path(shell, form.format(name))] = "\n".join(lines).rstrip() + "\n"
    return files


if __name__ == "__main__":
    for path, text in generated().items():
        (HOME / path).parent.mkdir(exist_ok=True)
        (HOME / path).write_text(text, encoding="utf-8")
