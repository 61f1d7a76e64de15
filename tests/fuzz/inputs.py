"""Inputs for a parser: damaged well-formed ones, and random bytes."""

from collections.abc import Sequence

from hypothesis import strategies as st

from tests.fuzz.target import MOST_BYTES, FuzzTarget

# Numbers at the edges of what columns, sizes and loops hold.
_EDGES = tuple(
    str(number).encode()
    for number in (0, -1, 2**31, 2**32, 2**63, 2**64, 10**30, "1e308", "1e-308", "nan", "inf")
)
_TEXTS = (
    *(b"\0", b"\n", b"\r\n", b" ", b"\t", b"/", b"..", b"%s", b"'", b'"', b"\\", b"\x1b[2J"),
    *("\u202e".encode(), "é".encode(), b"\xff", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"),
)
_MOST_EDITS = 8
_LONG = 3000  # repetitions: what is deep or wide

Edit = tuple[str, float, float, bytes]


def inputs(target: FuzzTarget) -> st.SearchStrategy[bytes]:
    """Inputs for a target, at most MOST_BYTES long."""
    corpus = target.corpus()
    words = st.sampled_from((*target.words, *_EDGES, *_TEXTS))
    pieces = st.one_of(words, st.binary(max_size=8), st.builds(_repeated, words))
    places = st.floats(0, 1)
    edits = st.tuples(st.sampled_from(("put", "cut", "again", "over")), places, places, pieces)
    damaged = st.builds(_damage, st.sampled_from(corpus), st.lists(edits, max_size=_MOST_EDITS))
    return st.one_of(
        damaged, damaged, st.binary(max_size=200), st.builds(b"".join, st.lists(words))
    )


def _repeated(word: bytes) -> bytes:
    return word * _LONG


def _damage(seed: bytes, edits: Sequence[Edit]) -> bytes:
    """The seed after all edits; a place is a share of what the text is then."""
    data = seed
    for kind, first, second, piece in edits:
        start, end = sorted(round(share * len(data)) for share in (first, second))
        match kind:
            case "put":
                data = data[:start] + piece + data[start:]
            case "cut":
                data = data[:start] + data[end:]
            case "again":
                data = data[:end] + data[start:end] + data[end:]
            case _:
                data = data[:start] + piece + data[start + len(piece) :]
    return data[:MOST_BYTES]
