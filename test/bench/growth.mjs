// Calculates how the cost of a job grows with its size: the exponent e of cost = c * size^e over at least three sizes.

/** The growth limit of every benchmark. A quadratic reader has an exponent near 2, and start-up time lowers the exponent. */
export const MOST_GROWTH = 1.1;
/** The part of the start of a process by which two runs differ on a busy machine. */
const START_NOISE = 0.25;

/**
 * Fits a line by least squares through the logarithms of `[size, cost]` and returns its slope.
 * @type {typeof import('./growth.mjs').exponentOf}
 */
export const exponentOf = (points) => {
  const logs = points.map(([size, cost]) => /** @type {const} */ ([Math.log(size), Math.log(cost)]));
  const x = logs.reduce((sum, [a]) => sum + a, 0) / logs.length;
  const y = logs.reduce((sum, [, b]) => sum + b, 0) / logs.length;
  const over = logs.reduce((sum, [a, b]) => sum + (a - x) * (b - y), 0);
  const under = logs.reduce((sum, [a]) => sum + (a - x) ** 2, 0);
  return over / under;
};

/**
 * Returns the output line of a benchmark and whether its growth is within the limit. `base` is the cost of the job
 * without any work, for example process start-up, which would hide the growth. Sizes whose work is not more than
 * `noise` are left out: a value in their place would hide the growth of the other sizes. If only one size is above the
 * noise, the size before it costs at most the noise, so the line through both is a lower bound of the growth.
 * @type {typeof import('./growth.mjs').growthOf}
 */
export const growthOf = (points, { base = 0, limit = MOST_GROWTH, noise = 0 } = {}) => {
  if (points.length < 3) return unknownGrowth('fewer than three sizes');
  const all = points.map(([size, cost]) => /** @type {const} */ ([size, cost - base]));
  const work = all.filter(([, cost]) => cost > noise);
  const [first] = work;
  if (first === undefined) return unknownGrowth('the work costs less than the noise of a start');
  const before = all.findLast(([size, cost]) => cost <= noise && size < first[0]);
  if (work.length === 1 && before === undefined)
    return unknownGrowth('one size is above the noise of a start');
  const exponent = exponentOf(work.length > 1 || before === undefined ? work : [[before[0], noise], first]);
  const isOver = exponent > limit;
  const left = points.length - work.length;
  const without =
    left === 0
      ? ''
      : `, ${work.length === 1 ? 'at least, ' : ''}without ${left} of ${points.length} sizes in the noise`;
  return {
    exponent,
    isOver,
    text: `growth: size^${exponent.toFixed(2)} (limit ${limit}${without})${isOver ? '  OVER' : ''}`,
  };
};
/** @param {string} why */
const unknownGrowth = (why) => ({ exponent: Number.NaN, isOver: false, text: `growth: unknown, ${why}` });

/**
 * Notes that a figure exceeds its limit. Another program on the machine changes times, so a limit of a time (`isTime`)
 * fails the run only with OPSCTL_BENCH_STRICT=1.
 * @type {typeof import('./growth.mjs').exceed}
 */
export const exceed = ({ isTime = false } = {}, env = process.env) => {
  if (!isTime || env.OPSCTL_BENCH_STRICT === '1') process.exitCode = 1;
};

/**
 * Prints the growth of a figure over its sizes, and notes a growth above the limit. `isTime`: wall time instead of CPU time.
 * @type {typeof import('./growth.mjs').printGrowth}
 */
export const printGrowth = (name, points, { isTime = false, base = 0, ...options } = {}) => {
  const { text, isOver } = growthOf(points, { base, noise: base * START_NOISE, ...options });
  if (isOver) exceed({ isTime });
  const sizes = points.map(([size, cost]) => `${size}: ${cost.toFixed(2)} s`).join(', ');
  process.stdout.write(`  ${name}: ${text} (${sizes})\n`);
};
