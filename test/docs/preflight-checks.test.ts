import { expect, test } from 'vitest';
import { guards } from '../../src/kv/upgrade/guards/all.ts';
import { acceptable, operationsOf } from '../../src/kv/upgrade/guards/guard.ts';
import { textOf } from './pages.ts';

const rows = [
  ...textOf('docs/reference/preflight-checks.md').matchAll(
    /^\| `([\w-]+)` \| .* \| (yes|no|if unknown) \|$/gm,
  ),
];

test('the reference lists every preflight check and whether it can be accepted', () => {
  const documented = rows.map(([, name, answer]) => `${name}: ${answer}`).sort();
  const answerOf = (id: string): string => (operationsOf(id).length > 0 ? 'if unknown' : 'no');
  const actual = guards.map(({ id }) => `${id}: ${acceptable.includes(id) ? 'yes' : answerOf(id)}`).sort();
  expect(documented).toEqual(actual);
});
