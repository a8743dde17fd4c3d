import { defineConfig } from 'vitest/config';

const common = { define: { OPSCTL_VERSION: '"0.0.0-test"' } };
/** Suites that start processes, browsers, clusters or peers. They mostly wait for those: two files at a time keep two cores busy and no more. */
const real = ['test/cluster/**/*.test.ts', 'test/browser/**/*.test.ts', 'test/peers/*.test.ts', 'test/stories/**/*.test.ts', 'test/crash/**/*.test.ts', 'test/real/**/*.test.ts'];
const never = ['**/node_modules/**'];

/** The fast files share three processes, as a good part of their time is waiting (`isolate: false`: no module has state that changes). */
export default defineConfig({
  test: {
    projects: [
      { ...common, test: { name: 'fast', include: ['test/**/*.test.ts'], exclude: [...never, ...real], testTimeout: 30_000, maxWorkers: 3, isolate: false } },
      { ...common, test: { name: 'real', include: real, exclude: never, testTimeout: 180_000, hookTimeout: 180_000, maxWorkers: 2 } },
    ],
  },
});
