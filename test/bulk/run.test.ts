import { describe, expect, test } from 'vitest';
import { trackerInMemory } from '../support/in-memory.ts';

const ndjson = (...rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const label = (name: string, more: object = {}) => ({ op: 'create', resource: 'labels', name, ...more });
const run = (at: ReturnType<typeof trackerInMemory>, ...more: string[]) =>
  at.run(['bulk', '-f', 'rows.ndjson', '-o', 'ndjson', ...more]);
const rowsOf = ({ out }: { readonly out: string }) =>
  out
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
    .toSorted((a, b) => a.line - b.line);

describe('tracker bulk', () => {
  test('carries out each row and says its id', async () => {
    const at = trackerInMemory({ 'rows.ndjson': ndjson(label('a'), label('b')) });
    const ran = await run(at);
    const made = at.send('GET', '/labels');
    expect(ran.code).toBe(0);
    expect(rowsOf(ran)).toEqual(
      ['a', 'b'].map((name, i) => ({
        ...{ line: i + 1, status: 'done', op: 'create', resource: 'labels' },
        id: made.find((one: any) => one.name === name).id,
      })),
    );
    expect(ran.err).toContain('2 done, 0 failed, 0 skipped');
  });
});
