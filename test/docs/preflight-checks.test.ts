import { expect, test } from 'vitest';
import { guards } from '../../src/kv/upgrade/guards/all.ts';
import { acceptable } from '../../src/kv/upgrade/guards/guard.ts';
import { textOf } from './pages.ts';

const rows = [
  ...textOf('docs/reference/preflight-checks.md').matchAll(/^\| `([\w-]+)` \| .* \| (yes|no) \|$/gm),
];

test('the reference lists every preflight check and whether it can be accepted', () => {
  const documented = rows.map(([, name, answer]) => `${name}: ${answer}`).sort();
  const actual = guards.map(({ id }) => `${id}: ${acceptable.includes(id) ? 'yes' : 'no'}`).sort();
  expect(documented).toEqual(actual);
});
