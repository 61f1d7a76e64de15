// What of a series is drawn where it is denser than pixels; it draws nothing and knows no page.
//
// Nothing is reckoned: a column shows the lowest and the highest boot of its revisions, and of
// their levels the one in the middle. Each of the three was measured.

/** The index of the first position that is not below a value. */
export function lowerBound(positions, value) {
  let [low, high] = [0, positions.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (positions[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The index of the point nearest to a place on the axis. */
export function nearest(positions, value) {
  const after = Math.min(lowerBound(positions, value), positions.length - 1);
  const before = Math.max(after - 1, 0);
  return value - positions[before] < positions[after] - value ? before : after;
}

/** The indices [first, end) of the points from a position to another. */
export function within(positions, from, to) {
  const end = lowerBound(positions, to);
  return [lowerBound(positions, from), positions[end] === to ? end + 1 : end];
}

/** Of the points [first, end) the index of that whose level is in the middle; of two the lower. */
export function middle(means, first, end) {
  if (end - first === 1) return first;
  const order = Array.from({ length: end - first }, (_, i) => first + i).sort((a, b) => means[a] - means[b]);
  return order[(order.length - 1) >> 1];
}

/**
 * The points from a position to another as columns of pixels, by place: { first, end, at, low,
 * high }, where [first, end) are a column's points and `at` is the one whose level is drawn.
 * `pixels` is how wide the whole is.
 */
export function columns(series, from, to, pixels) {
  const { positions, means, lows, highs } = series;
  const scale = pixels / (to - from || 1);
  const found = [];
  const [start, stop] = within(positions, from, to);
  for (let first = start; first < stop;) {
    const place = Math.floor((positions[first] - from) * scale);
    let [low, high, end] = [lows[first], highs[first], first + 1];
    while (end < stop && Math.floor((positions[end] - from) * scale) === place) {
      low = Math.min(low, lows[end]);
      high = Math.max(high, highs[end]);
      end += 1;
    }
    found.push({ first, end, at: middle(means, first, end), low, high });
    first = end;
  }
  return found;
}

/** At most `most` round numbers between two. */
export function ticks(low, high, most) {
  const least = (high - low) / most || 1;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= least * 0.999);
  const found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) found.push(tick);
  return found;
}
