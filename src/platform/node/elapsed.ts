/** Milliseconds that never go back. `performance` would load eleven modules of Node at the first call. */
export const elapsedMs = (): number => {
  const [seconds, nanos] = process.hrtime();
  return seconds * 1000 + nanos / 1e6;
};
