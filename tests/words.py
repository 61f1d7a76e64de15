"""Misplaced words on a page in the browser."""


def words(cells: str, broken: str) -> str:
    """JavaScript for the words in the elements that a selector names, of which `broken` is true.

    `broken` is an expression on `lines`, the boxes that a word stands in.
    """
    return f"""
[...document.querySelectorAll("{cells}")].flatMap((cell) => {{
  const broken = [];
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {{
    for (const {{ 0: word, index }} of texts.currentNode.data.matchAll(/[^\\s-]+/g)) {{
      const range = document.createRange();
      range.setStart(texts.currentNode, index);
      range.setEnd(texts.currentNode, index + word.length);
      const lines = [...range.getClientRects()];
      if ({broken}) broken.push(word);
    }}
  }}
  return broken;
}})"""
