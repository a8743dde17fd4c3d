import { expect, test } from 'vitest';
import { nodeHost } from '../../src/platform/node/host.ts';

test('any number of waits on one signal stop with it, without a leak warning', async () => {
  const warnings: string[] = [];
  const note = (warning: Error): void => void warnings.push(warning.name);
  process.on('warning', note);
  try {
    const stop = new AbortController();
    const waits = Array.from({ length: 20 }, () => nodeHost().sleep(60_000, stop.signal));
    // A service may ask for a longer wait than a timer of Node can have. Such a timer would fire immediately.
    waits.push(nodeHost().sleep(1e12, stop.signal));
    stop.abort(new Error('stopped'));
    const ended = await Promise.allSettled(waits);
    expect(ended.every((one) => one.status === 'rejected' && one.reason.message === 'stopped')).toBe(true);
    // Node emits a warning in the next turn of the loop.
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings).toEqual([]);
  } finally {
    process.off('warning', note);
  }
});
