import { describe, expect, it } from 'vitest';
import { openLines, parseLines } from '../../../src/kv/engine/journal.ts';
import { fakeHost } from '../../support/fake-host.ts';

type Line = { readonly at: string; readonly n: number };
const asLine = (line: unknown): Line => {
  if (typeof (line as Line).n !== 'number') throw new Error('no number');
  return line as Line;
};
const PATH = '/state/run/lines.jsonl';

describe('lines of a journal', () => {
  it('lines are read up to the last complete one, and their bytes counted', () => {
    expect(parseLines('', asLine)).toEqual({ entries: [], wholeBytes: 0 });
    expect(parseLines('{"n":1,"t":"é"}\n{"n":2}\n{"n":', asLine)).toEqual({
      ...{ entries: [{ n: 1, t: 'é' }, { n: 2 }], wholeBytes: 25 },
    });
    expect(parseLines('{"n":1}', asLine)).toEqual({ entries: [], wholeBytes: 0 });
  });
  it.each([
    ['{"n":1}\nxx\n{"n":3}\n', 'line 2 of the journal cannot be read'],
    ['{"m":1}\n', 'line 1 of the journal cannot be read'],
  ])('an unreadable line is named by its number: %j', (text, message) => {
    expect(() => parseLines(text, asLine)).toThrow(message);
  });
  it('an unreadable line of a file is named with the file', async () => {
    const host = fakeHost({ files: { [PATH]: 'xx\n' } });
    await expect(openLines(host, PATH, asLine)).rejects.toMatchObject({
      ...{ category: 'config', message: `line 1 of ${PATH} cannot be read` },
      detail: { code: 'JOURNAL_DAMAGED' },
    });
  });
});

describe('an open journal', () => {
  it('an open journal is private, and only an incomplete line is cut off', async () => {
    const host = fakeHost({ files: { '/state/x': '' } });
    const truncated: number[] = [];
    const { truncate } = host.files;
    host.files.truncate = async (path, size) => {
      truncated.push(size);
      await truncate(path, size);
    };
    const first = await openLines<Line>(host, PATH, asLine);
    first.write({ n: 1 });
    first.tell({ n: 2 });
    first.close();
    expect([host.files.mode('/state/run'), host.files.mode(PATH)]).toEqual([0o700, 0o600]);
    const stamp = new Date(host.now()).toISOString();
    expect(first.entries).toEqual([
      { at: stamp, monotonic_ms: 0, n: 1 },
      { at: stamp, monotonic_ms: 0, n: 2 },
    ]);
    const written = [1, 2].map((n) => `{"at":"${stamp}","monotonic_ms":0,"n":${n}}\n`);
    expect(host.files.readNow(PATH)).toBe(written.join(''));
    const second = await openLines<Line>(host, PATH, asLine);
    expect([second.entries, second.path, truncated]).toEqual([first.entries, PATH, []]);
    await host.files.replace(PATH, `${host.files.readNow(PATH)}{"n"`);
    expect((await openLines<Line>(host, PATH, asLine)).entries).toHaveLength(2);
    expect(truncated).toHaveLength(1);
    expect(host.files.readNow(PATH)).toMatch(/"n":2\}\n$/);
  });
  it('closes its file', async () => {
    const host = fakeHost();
    const { append } = host.files;
    let closed = 0;
    host.files.append = (...given) => ({
      ...append(...given),
      close: () => {
        closed += 1;
      },
    });
    const journal = await openLines<Line>(host, PATH, asLine);
    expect(closed).toBe(0);
    journal.close();
    expect(closed).toBe(1);
  });
});
