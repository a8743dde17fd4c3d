const trimmed = (value: number, digits: number): string => value.toFixed(digits).replace(/\.?0+$/, '');

/** A time as the store's own tools print it: `2.257987ms`, `512.3µs`, `1.5s`, `2m3.5s`. */
export const goDuration = (ms: number): string => {
  if (ms < 1) return `${trimmed(ms * 1000, 3)}µs`;
  if (ms < 1000) return `${trimmed(ms, 6)}ms`;
  if (ms < 60_000) return `${trimmed(ms / 1000, 9)}s`;
  const minutes = Math.floor(ms / 60_000);
  return `${minutes}m${trimmed((ms - minutes * 60_000) / 1000, 9)}s`;
};
