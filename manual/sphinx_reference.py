"""The directive {reference}, which puts a generated page into the manual; it makes no text itself.

```{reference} metrics
```

stands for what `manual.reference.TEXTS["metrics"]` gives, as MyST. Nothing is written into docs/.
"""

from typing import Any, ClassVar

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from manual.reference import TEXTS


class Reference(SphinxDirective):
    """A page, or a part of one, by its name."""

    required_arguments: ClassVar[int] = 1

    def run(self) -> list[nodes.Node]:
        """The text's nodes, with its headings beneath the one that stands before.

        Raises:
            ExtensionError: By Sphinx, when there is no text of that name.
        """
        name = self.arguments[0]
        if name not in TEXTS:
            raise self.error(f"there is no reference {name!r}; there are {', '.join(TEXTS)}")
        return self.parse_text_to_nodes(TEXTS[name](), allow_section_headings=True)


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx of the directive."""
    app.add_directive("reference", Reference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
