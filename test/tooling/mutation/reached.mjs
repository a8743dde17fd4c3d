// @ts-check
// Runs before each test file during the reach measurement and records the marks of that file.
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';

const reached = new Set();
Object.assign(globalThis, { __reached: reached });
/**
 * Top-level code of a module runs only in the first test file of a process.
 * @type {unknown[]}
 */
let loaded = [];

beforeAll(() => {
  loaded = [...reached];
  reached.clear();
});
afterAll(() => {
  const { testPath } = expect.getState();
  const found = { test: testPath, loaded, reached: [...reached] };
  writeFileSync(join(process.env.OPSCTL_MARKS ?? '', `${randomUUID()}.json`), JSON.stringify(found));
});
