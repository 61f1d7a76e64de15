"""The rows that the search is judged by.

No constant of the model is tuned on these, nor on their seeds: `benchmarks.worlds.dev` is for that.
"""

from benchmarks.worlds.cost_rows import COST_ROWS
from benchmarks.worlds.trust_rows import TRUST_ROWS

ROWS = (*COST_ROWS, *TRUST_ROWS)
