"""Lower bounds on the iterations of any search, and a genie that has both levels."""

import numpy as np

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
ERROR = 0.01


def information(q: np.ndarray, d: float) -> np.ndarray:
    """Nats that N(0, 1) against N(d, 1) tells of a bit that is 1 with probability q; shape of q."""
    q = q[..., None]
    y = _NODES + d
    zero = -np.log(1 - q + q * np.exp(d * _NODES - d * d / 2))
    one = -np.log(q + (1 - q) * np.exp(d * d / 2 - d * y))
    return np.asarray(((1 - q) * zero + q * one) @ _WEIGHTS)


def fano(n: int, d: float, error: float = ERROR) -> float:
    """E[iterations] ≥ ((1 - error) log2 n - h(error)) / C(d), C in bits (Fano's inequality)."""
    h = -error * np.log2(error) - (1 - error) * np.log2(1 - error)
    capacity = float(information(np.array([0.5]), d)[0]) / np.log(2)
    return max(float(((1 - error) * np.log2(n) - h) / capacity), 0.0)


def lower_bound(n: int, d: float, error: float = ERROR) -> float:
    """The larger of Fano's with both ends measured, and of telling a step from none."""
    kl = (1 - 2 * error) * np.log((1 - error) / error)
    return max(2 + fano(n, d, error), 8 * float(kl) / d**2)


def boots_against_a_mode(n: int, share: float, error: float = ERROR) -> float:
    """Boots of a culprit that it takes until a slower mode, drawn each time, explains them no more.

    Each of about log2 n halvings is a chance to draw the mode; k boots in a row draw it with
    probability share^k: ln(log2(n) / error) / ln(1 / share). (A union bound, near the truth.) Where
    nothing was measured before, a testbed with two modes looks like any other until it is paid.
    """
    return float(np.log(np.log2(n) / error) / np.log(1 / share))


def genie(n: int, d: float, rng: np.random.Generator, error: float = ERROR) -> tuple[int, bool]:
    """Iterations of a greedy search that knows both levels, and whether it was right."""
    culprit = int(rng.integers(1, n + 1))
    commits = np.arange(1, n + 1)
    posterior = np.full(n, 1 / n)
    count = 0
    while posterior.max() < 1 - error:
        before = np.clip(np.cumsum(posterior)[:-1], 1e-12, 1 - 1e-12)
        position = 1 + int(np.argmin(np.abs(before - 0.5)))
        y = rng.normal(d if culprit <= position else 0.0)
        log_ratio = np.clip(d * y - d * d / 2, -600, 600)
        posterior = posterior * np.where(commits <= position, np.exp(log_ratio / 2), 1.0)
        posterior[commits > position] *= np.exp(-log_ratio / 2)
        posterior /= posterior.sum()
        count += 1
    return count, 1 + int(np.argmax(posterior)) == culprit
