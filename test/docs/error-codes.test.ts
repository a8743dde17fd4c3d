import { expect, test } from 'vitest';
import { exitCodes } from '../../src/core/problem.ts';
import { errorExplanations } from '../../src/reference/explanations/errors.ts';
import { pages, textOf } from './pages.ts';

const [, codes = ''] = textOf('docs/reference/errors.md').split('\n## Error codes\n');
const sections = new Map(
  codes.split(/^### /m).map((section) => [section.slice(0, section.indexOf('\n')), section]),
);

test.each(Object.entries(errorExplanations))(
  'the page has a section with the exit code of %s',
  (code, row) => {
    expect(sections.get(code)).toContain(`Exit code ${exitCodes[row.category].code} (${row.category}).`);
  },
);

test('the reference has one page of error codes', () => {
  const others = pages
    .filter((page) => page.startsWith('docs/reference/') && page !== 'docs/reference/errors.md')
    .filter((page) => (textOf(page).match(/^\| `[A-Z][A-Z_]+` \| \d+ \|/gm) ?? []).length > 0);
  expect(others, 'describe error codes in src/reference/explanations').toEqual([]);
});
