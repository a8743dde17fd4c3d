import { expect, test } from 'vitest';
import { sortAdvisories } from './advisories.mjs';

test('an advisory counts against the program only if the program contains the package', () => {
  const row = (name: string) => ({ name, severity: 'high', range: '<2', via: [], effects: [] });
  const rows = { chalk: row('chalk'), vitest: row('vitest') };
  const { inside, outside } = sortAdvisories(rows, new Set(['chalk']));
  expect([inside.map(({ name }) => name), outside.map(({ name }) => name)]).toEqual([['chalk'], ['vitest']]);
});
