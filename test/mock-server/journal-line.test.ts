import { Buffer } from 'node:buffer';
import { describe, expect, test } from 'vitest';
import { Deferred } from '../../src/mock-server/store.ts';
import {
  changesText,
  addChecksum,
  entriesOf,
  HEADER,
  isCompleteLine,
  readJournal,
  voidLine,
} from '../../src/mock-server/journal.ts';
import { fakeFiles } from '../support/fake-files.ts';

const bytes = (text: string): Buffer => Buffer.from(text);
const soundness = (line: string): boolean => isCompleteLine(bytes(`${line}\n`), 0, line.length);

describe('a line of the journal', () => {
  test('a line has eight digits of CRC-32 and a space before its changes', () => {
    expect(addChecksum('abc')).toBe('352441c2 abc\n');
    // Leading zeros are digits as well.
    expect(addChecksum('')).toBe('00000000 \n');
    expect(voidLine(17)).toBe('\n~17\n');
  });
  test('a line has collection, key and value of each change, separated by tabs', () => {
    const value = new Deferred(bytes('x[1]y'), 1, 4);
    const changes = [
      { c: 'items', k: 7, v: { a: 'tab\t' } },
      { c: 'items', k: '7', v: undefined },
      { c: 'names', k: 'ä', v: value },
    ];
    expect(changesText(changes as never)).toBe('items\t7\t{"a":"tab\\t"}\titems\t"7"\t\tnames\t"ä"\t[1]');
    const line = addChecksum(changesText(changes as never));
    const whole = bytes(`before\n${line}after\n`);
    const start = 7;
    const end = whole.indexOf(10, start);
    const entries = entriesOf(whole, start, end);
    expect(entries.map(({ collection, key, value: found }) => [collection, key, found?.text()])).toEqual([
      ['items', 7, '{"a":"tab\\t"}'],
      ['items', '7', undefined],
      ['names', 'ä', '[1]'],
    ]);
    expect(isCompleteLine(whole, start, end)).toBe(true);
  });
  test('a line without changes has no entry', () => {
    expect(entriesOf(bytes('00000000 \n'), 0, 9)).toEqual([]);
  });
  test('a line is complete if its checksum matches its content', () => {
    expect(['352441c2 abc', '00000000 ', '352441C2 abc'].map(soundness)).toEqual([true, true, true]);
    const broken = [
      '352441c2 abd',
      '352441c3 abc',
      '352441c2\tabc',
      '352441c2abc',
      'x52441c2 abc',
      '',
      '352441c2',
    ];
    expect(broken.map(soundness)).toEqual(broken.map(() => false));
    // The bytes after the end of the line are not part of it.
    expect(isCompleteLine(bytes('00000000 '), 0, 8)).toBe(false);
    expect(isCompleteLine(bytes('0\n000000 x\n'), 0, 1)).toBe(false);
  });
});

describe('reading of a journal', () => {
  const read = async (content: string | undefined) => {
    const files = fakeFiles(content === undefined ? {} : { '/j': content }, () => 0, '/tmp', '/home');
    const found: string[] = [];
    const sizes = await readJournal(files, '/j', ({ key, value }) => {
      found.push(`${key}=${value?.text() ?? ''}`);
    });
    return { found, ...sizes };
  };
  const line = (key: number, value: number): string => addChecksum(`c\t${key}\t${value}`);
  const code = (content: string) =>
    read(content).then(
      () => 'read',
      (error) => error.detail.code,
    );

  test('the reader returns the changes of complete lines in order, and their size', async () => {
    const good = `${HEADER}${line(1, 10)}${line(2, 20)}`;
    expect(await read(good)).toEqual({
      found: ['1=10', '2=20'],
      goodBytes: good.length,
      sizeBytes: good.length,
    });
    expect(await read(`${good}352441c2 ab`)).toEqual({
      found: ['1=10', '2=20'],
      goodBytes: good.length,
      sizeBytes: good.length + 11,
    });
    expect(await read(`${good}\n\n`)).toMatchObject({ found: ['1=10', '2=20'], goodBytes: good.length + 2 });
    expect(await read(undefined)).toEqual({ found: [], goodBytes: 0, sizeBytes: 0 });
  });
  test('the reader skips a change that a later line marks as unacknowledged', async () => {
    const first = `${HEADER}${line(1, 10)}`;
    const at = first.length;
    const found = async (content: string) => (await read(content)).found;
    expect(await found(`${first}${line(2, 20)}${voidLine(at)}${line(3, 30)}`)).toEqual(['1=10', '3=30']);
    expect(await found(`${first}352441c2 abx${voidLine(at)}${line(3, 30)}`)).toEqual(['1=10', '3=30']);
    expect(await found(`${first}${line(2, 20)}${voidLine(at + 1)}${line(3, 30)}`)).toEqual([
      ...['1=10', '2=20', '3=30'],
    ]);
    // The void mark does not affect a broken line before its position.
    expect(await code(`${first}352441c2 abx${voidLine(at + 1)}`)).toBe('MOCK_STATE_DAMAGED');
  });
  test('damage is reported with its line and byte, for any following content', async () => {
    const content = `${HEADER}${line(1, 10)}352441c2 abx\n${line(3, 30)}broken too\n`;
    const error = await read(content).catch((caught) => caught);
    expect(error.message).toContain(`line 3 of /j (byte ${HEADER.length + line(1, 10).length})`);
  });
  test('an unrelated file is reported; a file cut before its first line, or of zeros, is empty', async () => {
    const zeros = '\0'.repeat(40);
    expect(await code('opsctl-mock 2\n')).toBe('MOCK_STATE_FOREIGN');
    expect(await code('x\n')).toBe('MOCK_STATE_FOREIGN');
    expect(await code('x'.repeat(HEADER.length))).toBe('MOCK_STATE_FOREIGN');
    expect(await code(`${'x'.repeat(HEADER.length)}${zeros}`)).toBe('MOCK_STATE_FOREIGN');
    expect(await code('x'.repeat(HEADER.length - 1))).toBe('read');
    expect(await read(`${'x'.repeat(HEADER.length - 1)}${zeros}`)).toEqual({
      ...{ found: [], goodBytes: 0, sizeBytes: HEADER.length - 1 + zeros.length },
    });
    expect(await read(zeros)).toMatchObject({ goodBytes: 0 });
    expect(await read('')).toMatchObject({ goodBytes: 0, sizeBytes: 0 });
  });
});
