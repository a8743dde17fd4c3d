// How the cost of a job grows with its size: the exponent e of cost = c * size^e over three sizes or more.

/** The limit of every benchmark. A reader that is quadratic has an exponent near 2, and start-up makes it smaller. */
export const MOST_GROWTH = 1.1;

/** Least squares through the logarithms of `[size, cost]`. */
export const exponentOf = (points) => {
  const logs = points.map(([size, cost]) => [Math.log(size), Math.log(cost)]);
  const mean = (at) => logs.reduce((sum, point) => sum + point[at], 0) / logs.length;
  const [x, y] = [mean(0), mean(1)];
  const over = logs.reduce((sum, [a, b]) => sum + (a - x) * (b - y), 0);
  const under = logs.reduce((sum, [a]) => sum + (a - x) ** 2, 0);
  return over / under;
};

/**
 * The line of a benchmark, and whether its growth is within the limit. `base` is the cost of the job without any work,
 * for example the start of the process: it would hide the growth.
 */
export const growthOf = (points, { base = 0, limit = MOST_GROWTH } = {}) => {
  if (points.length < 3)
    return { exponent: Number.NaN, isOver: false, text: 'growth: fewer than three sizes' };
  const exponent = exponentOf(points.map(([size, cost]) => [size, Math.max(cost - base, 1e-6)]));
  const isOver = exponent > limit;
  return {
    exponent,
    isOver,
    text: `growth: size^${exponent.toFixed(2)} (limit ${limit})${isOver ? '  OVER' : ''}`,
  };
};
