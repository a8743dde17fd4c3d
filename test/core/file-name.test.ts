import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  childPath,
  fileNameKey,
  isInside,
  isSafeFileName,
  pathPart,
  safeFileName,
  uniqueFileName,
} from '../../src/core/file-name.ts';
import { limits } from '../../src/core/limits.ts';
import { covers } from '../support/covers.ts';
import { readSources } from '../support/sources.ts';

const hostile = [
  '../.github/workflows/ci',
  '..\\..\\x',
  '/etc/passwd',
  '//server/share/x',
  'c:\\windows\\x',
  'a/../../b',
  '.',
  '..',
  '.. ',
  '../',
  '...',
  '',
  '\0',
  'a\0/../b',
  '-rf',
  '.bashrc',
  'CON',
  'nul.yaml',
  'x:stream',
  'a?b*c',
  'x\u202egpj',
  '\u2066',
  '\u200b..',
  '\u001b]0;x\u0007',
  '\ud800',
  'x'.repeat(5000),
  'é'.repeat(5000),
  `${' '.repeat(5000)}x`,
];

/** The rules of a name in their order, each applied to the whole text. */
const nameByDefinition = (text: string, otherwise: string): string => {
  const bytes = (one: string): number => Buffer.byteLength(one);
  const part = text.split(/[/\\]/).findLast((one) => one !== '') ?? '';
  const seen = part.replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029<>:"|?*]/gu, '_').replace(/[. ]+$/, '');
  const safe = seen.replace(/^[.\s-]+/, (start) => '_'.repeat(start.length));
  const isDevice = /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])\s*(\.|$)/i.test(safe);
  let name = isDevice ? `_${safe}` : safe;
  if (bytes(name) > limits.fileNameBytes) {
    const dot = name.lastIndexOf('.');
    const end = dot > 0 && bytes(name.slice(dot)) <= 20 ? name.slice(dot) : '';
    const letters = [...name];
    let size = bytes(name);
    const most = limits.fileNameBytes - bytes(end);
    while (size > most) size -= bytes(letters.pop() ?? '');
    name = letters.join('') + end;
  }
  name = name.replace(/[. ]+$/, '');
  return name.replaceAll('_', '') === '' ? otherwise : name;
};

describe('safeFileName', () => {
  test.each(hostile)('makes one safe part of %j', (text) => {
    const name = safeFileName(text, 'label');
    expect(name).not.toMatch(/[/\\<>:"|?*\p{Cc}\p{Cf}\p{Cs}]/u);
    expect(name).not.toMatch(/^[.\s-]|[. ]$/);
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(limits.fileNameBytes);
    expect(childPath('/a/b', name)).toMatch(/^\/a\/b\/[^/]+$/);
    expect(isSafeFileName(name)).toBe(true);
    expect(safeFileName(name, 'x')).toBe(name);
  });

  test('safeFileName reads both ends of a long text as if it had read all of it', () => {
    const parts = [
      ' ',
      '.',
      '-',
      'a',
      '\t',
      '\u00a0',
      '\u200b',
      '\u2028',
      '\ufeff',
      '\ud83d',
      '\ude00',
      '😀',
    ];
    const piece = fc
      .tuple(
        fc.constantFrom(...parts, 'con', '.yaml', 'é', '/', '\\', ':', '$'),
        fc.constantFrom(1, 2, 30, 600),
      )
      .map(([text, count]) => text.repeat(count));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = pieces.join('');
        expect(safeFileName(text, 'x')).toBe(nameByDefinition(text, 'x'));
      }),
      { numRuns: 500 },
    );
  });

  test('safeFileName keeps a valid name and uses the fallback for a name without usable characters', () => {
    expect(safeFileName('über uns.pdf', 'x')).toBe('über uns.pdf');
    expect(safeFileName('..', '../label')).toBe('label');
    expect(safeFileName('..', '..')).toBe('file');
  });

  test('safeFileName needs linear time for a run of spaces', () => {
    const start = performance.now();
    safeFileName(`x${' '.repeat(2_000_000)}x`, 'x');
    safeFileName(`x${'. '.repeat(1_000_000)}`, 'x');
    expect(performance.now() - start).toBeLessThan(2000);
  });
});

describe('uniqueFileName', () => {
  const namesFor = (wishes: readonly string[][]): string[] => {
    const taken = new Set<string>();
    return wishes.map((wish) => {
      const name = uniqueFileName(wish, '.yaml', taken);
      taken.add(fileNameKey(name));
      return name;
    });
  };

  test('gives different names to texts that map to one name', () => {
    expect(namesFor([['a/x'], ['b/x'], ['x'], ['X'], ['x ']])).toEqual([
      'x.yaml',
      'x-2.yaml',
      'x-3.yaml',
      'X-4.yaml',
      'x-5.yaml',
    ]);
  });

  test('treats composed and decomposed letters as one name', () => {
    expect(namesFor([['\u00e9'], ['e\u0301']])[1]).toBe('e\u0301-2.yaml');
  });

  test('keeps the number and the extension of a long name', covers('limit/fileNameBytes'), () => {
    const [first = '', second = ''] = namesFor([['x'.repeat(500)], ['x'.repeat(600)]]);
    expect(first).toHaveLength(limits.fileNameBytes);
    expect(second).toMatch(/x-2\.yaml$/);
    expect(Buffer.byteLength(second)).toBeLessThanOrEqual(limits.fileNameBytes);
  });

  test('uses the second wish before a number', () => {
    expect(
      namesFor([
        ['bug', 'bug-a'],
        ['bug', 'bug-b'],
        ['bug', 'bug-b'],
      ]),
    ).toEqual(['bug.yaml', 'bug-b.yaml', 'bug-b-2.yaml']);
  });
});

describe('pathPart', () => {
  test.each(['', '.', '..', 'a/b', '../x', 'a\\b', 'a\0b'])('refuses %j', (text) => {
    expect(() => pathPart(text)).toThrow('no file was written');
  });
  test.each(['.hidden', 'a b', '-x', 'n1.pid'])('returns %j unchanged', (text) => {
    expect(pathPart(text)).toBe(text);
  });
});

test.each([
  ['/a', true],
  ['/a/b', true],
  ['/a/..data/b', true],
  ['/a/...', true],
  ['/a/b/../c', true],
  ['/', false],
  ['/ab', false],
  ['/b', false],
  ['/a/../b', false],
  ['/a/..', false],
])('%s is in the directory /a: %s', (path, isThere) => {
  expect(isInside('/a', path)).toBe(isThere);
});
test('no source compares the start of a relative path with two dots', () => {
  const found = readSources().filter(([, text]) => /startsWith\(\s*['"`]\.\./.test(text));
  expect(found.map(([name]) => name)).toEqual([]);
});
