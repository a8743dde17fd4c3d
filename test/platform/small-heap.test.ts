import { PerformanceObserver, constants } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { heapKeeper } from '../../src/platform/node/builtin.ts';

const { NODE_PERFORMANCE_GC_MAJOR: MAJOR, NODE_PERFORMANCE_GC_FLAGS_FORCED: FORCED } = constants;
type Collection = { readonly kind: number; readonly flags: number };

test('a long response triggers full garbage collections, on every Node version', async () => {
  const seen = new Promise<Collection>((resolve) => {
    const observer = new PerformanceObserver((list) => {
      for (const { detail } of list.getEntries()) {
        const { kind, flags } = detail as Collection;
        if (kind !== MAJOR || (flags & FORCED) === 0) continue;
        observer.disconnect();
        resolve({ kind, flags });
      }
    });
    observer.observe({ entryTypes: ['gc'] });
  });
  const read = heapKeeper();
  for (let megabytes = 0; megabytes < 64; megabytes++) read(1024 * 1024);
  expect((await seen).kind).toBe(MAJOR);
});
