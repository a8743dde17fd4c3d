/** The difference of label files as a page in Markdown, for a pull request. */
import { describe, expect, test } from 'vitest';
import { labelsInMemory } from '../support/in-memory.ts';

const text = (title: string, more = ''): string => `title: ${title}\n${more}`;
/** A and B are applied and adopted. */
const both = async () => {
  const at = labelsInMemory({
    'labels/a.yaml': text('A', 'description: ours\n'),
    'labels/b.yaml': text('B'),
  });
  await at.run(['apply', '-f', 'labels']);
  await at.run(['adopt', '-f', 'labels']);
  return at;
};

describe('the page for a pull request', () => {
  const page = async (at: ReturnType<typeof labelsInMemory>) =>
    (await at.run(['diff', '-f', 'labels', '--summary', 'markdown'])).out.split('\n');
  test('the page has a table, and the difference of each label that differs', async () => {
    const at = await both();
    at.edit('A', { description: 'theirs' });
    expect(await page(at)).toEqual([
      '### Labels: 1 drifted, 1 same',
      '',
      'Compared with `https://labels.example`.',
      '',
      '| label | file | status | changes | undone by the file |',
      '|---|---|---|---|---|',
      '| A | labels/a.yaml | drifted | 1 | 1 |',
      '| B | labels/b.yaml | same | 0 | 0 |',
      '',
      '<details><summary>A</summary>',
      '',
      '```diff',
      '! changed in the service: description of the label: was "ours", is "theirs"',
      '! revision 2 by people/100000000000000000001, 2026-01-02T03:04:05Z',
      '! label A changed: description "theirs" becomes "ours"',
      '```',
      '',
      '</details>',
      '',
      '',
    ]);
  });
  test('the page marks additions, removals and other changes', async () => {
    const fields = (...names: string[]): string =>
      text('A | B', `fields:\n${names.map((name) => `  - {name: ${name}, type: text}\n`).join('')}`);
    const at = labelsInMemory({ 'labels/a.yaml': fields('One', 'Two', 'Three') });
    await at.run(['apply', '-f', 'labels', '--publish']);
    await at.write('labels/a.yaml', fields('Three', 'One', 'New'));
    const lines = await page(at);
    expect(lines).toContain('| A \\| B | labels/a.yaml | changed | 3 | 0 |');
    const of = (word: string): string | undefined => lines.find((line) => line.includes(word));
    expect(of('field New added')).toBe('+ field New added: text');
    expect(of('field Two disabled')).toBe('- field Two disabled: it is not in the file');
    expect(of('moved')).toMatch(/^! field \w+ moved/);
    await at.write('labels/a.yaml', `${fields('One', 'Three')}permissions: []\ntype: ADMIN\n`);
    const pruned = (await at.run(['diff', '-f', 'labels', '--summary', 'markdown', '--prune'])).out.split(
      '\n',
    );
    expect(pruned).toContain('- field Two deleted');
    expect(pruned).toContain('  fail: type is SHARED and cannot become ADMIN');
  });
});
