// Runs before each test file while it is found out which test reaches which place: writes down the marks of that file.
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';

const reached = new Set();
globalThis.__reached = reached;
/** What a module does when it is loaded happens in the first test file of a process only. */
let loaded = [];

beforeAll(() => {
  loaded = [...reached];
  reached.clear();
});
afterAll(() => {
  const { testPath } = expect.getState();
  const found = { test: testPath, loaded, reached: [...reached] };
  writeFileSync(join(process.env.OPSCTL_MARKS, `${randomUUID()}.json`), JSON.stringify(found));
});
