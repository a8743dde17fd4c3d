import { next } from '../../src/core/next.ts';
import { readFileSync } from 'node:fs';
import { trackerInMemory } from '../support/in-memory.ts';
import { describe, expect, test } from 'vitest';
import { parseExactJson } from '../../src/core/json.ts';
import { AppError } from '../../src/core/problem.ts';
import { type Result, nothing, rawResult, recordResult, rowsResult } from '../../src/core/result.ts';
import { helpWidth, writePaged } from '../../src/output/page-text.ts';
import { makeRedactor } from '../../src/output/redact.ts';
import { render } from '../../src/output/render.ts';
import { type OutputFormat as Format, formatNames, outputFormats } from '../../src/core/format.ts';
import type { OutputOptions } from '../../src/output/types.ts';
import { type FakeHost, type FakeHostOptions, fakeHost } from '../support/fake-host.ts';
import { covers } from '../support/covers.ts';

const quiet: OutputOptions = { header: true, quiet: false, verbose: false };
const rendered = async (
  result: Result,
  options: Partial<OutputOptions> = {},
  world: FakeHostOptions = {},
  secrets: string[] = [],
) => {
  const host = fakeHost(world);
  const redactor = makeRedactor();
  for (const secret of secrets) redactor.hide(secret);
  const exit = await render(result, { ...quiet, ...options }, host, redactor);
  return { exit, out: host.out(), err: host.err(), host };
};
const labels = [
  { id: 1, name: 'bug', stats: { open: 2 }, tags: ['a', 'b'], color: null },
  { id: 22, name: 'a, "b"', stats: { open: 10 }, tags: [], color: '#ff0000' },
];

test('a terminal that reports 0 columns and 0 lines gets the table of 80 columns, and no pager', async () => {
  const rows = rowsResult([{ id: 1, name: 'word '.repeat(40).trim(), state: 'open' }]);
  const terminal = { tty: ['stdin', 'stdout', 'stderr'] } as const;
  const known = await rendered(rows, { format: 'table' }, { ...terminal, columns: 80 });
  expect((await rendered(rows, { format: 'table' }, { ...terminal, columns: 0 })).out).toBe(known.out);
  const host = fakeHost({ ...terminal, columns: 0 });
  const paged: unknown[] = [];
  const page = async (command: string): Promise<boolean> => paged.push(command) > 0;
  const stdout = { ...host.terminal.stdout, isTty: true, columns: 0, rows: 0 };
  const unsized = { ...host, terminal: { ...host.terminal, stdout, page } };
  await writePaged('short\n', unsized, quiet);
  expect([host.out(), paged]).toEqual(['short\n', []]);
  await writePaged('line\n'.repeat(30), unsized, quiet);
  expect(paged).toEqual(['less']);
  expect([helpWidth(0), helpWidth(20), helpWidth(500)]).toEqual([80, 40, 120]);
});

describe('rows in each format', () => {
  const rowsAs: Readonly<Record<Format, string>> = {
    table:
      'ID  NAME    STATS     TAGS  COLOR\n1   bug     open: 2   a, b\n22  a, "b"  open: 10        #ff0000\n',
    wide: 'ID  NAME    STATS     TAGS  COLOR\n1   bug     open: 2   a, b\n22  a, "b"  open: 10        #ff0000\n',
    json: `${JSON.stringify(labels, null, 2)}\n`,
    ndjson: labels.map((label) => `${JSON.stringify(label)}\n`).join(''),
    csv: 'id,name,stats,tags,color\n1,bug,"{""open"":2}","[""a"",""b""]",\n22,"a, ""b""","{""open"":10}",[],#ff0000\n',
    name: '1\n22\n',
    yaml: '- id: 1\n  name: bug\n  stats:\n    open: 2\n  tags:\n    - a\n    - b\n  color: null\n- id: 22\n  name: a, "b"\n  stats:\n    open: 10\n  tags: []\n  color: "#ff0000"\n',
  };
  test.each(formatNames)('%s', async (format) => {
    const expected: string | undefined = rowsAs[format];
    expect(
      expected,
      `add what these rows are as ${format} to rowsAs in test/output/render.text.test.ts`,
    ).toBeDefined();
    expect(await rendered(rowsResult(labels), { format })).toMatchObject({
      exit: 'done',
      out: expected,
      err: '',
    });
  });

  test.each<[Format, string]>([
    ['table', ''],
    ['json', '[]\n'],
    ['ndjson', ''],
    ['csv', ''],
    ['name', ''],
    ['yaml', '[]\n'],
  ])('no rows as %s', async (format, expected) => {
    expect((await rendered(rowsResult([]), { format })).out).toBe(expected);
  });

  test.each<[Format, string]>([
    ['table', 'NAME    OPEN\nbug     2\na, "b"  10\n'],
    ['csv', 'name,stats.open\nbug,2\n"a, ""b""",10\n'],
    ['ndjson', '{"name":"bug","stats.open":2}\n{"name":"a, \\"b\\"","stats.open":10}\n'],
  ])('--columns in %s', async (format, expected) => {
    expect((await rendered(rowsResult(labels), { format, columns: ['name', 'stats.open'] })).out).toBe(
      expected,
    );
  });

  test.each<[Format, string]>([
    ['table', 'ID                NAME\n9007199254740993  a\n7                 b\n'],
    ['csv', 'id,name\n9007199254740993,a\n7,b\n'],
    ['yaml', '- id: 9007199254740993\n  name: a\n- id: 7\n  name: b\n'],
  ])('a number beyond 2^53 has its digits and its width in %s', async (format, expected) => {
    const rows = parseExactJson('[{"id":9007199254740993,"name":"a"},{"id":7,"name":"b"}]') as object[];
    expect((await rendered(rowsResult(rows), { format })).out).toBe(expected);
  });

  test('the view chooses columns of the table only', async () => {
    const result = rowsResult(labels, { columns: ['id', 'name'], name: 'name' });
    expect((await rendered(result, { format: 'table' })).out).toBe('ID  NAME\n1   bug\n22  a, "b"\n');
    expect((await rendered(result, { format: 'csv' })).out).toContain('id,name,stats');
    expect((await rendered(result, { format: 'name' })).out).toBe('bug\na, "b"\n');
  });

  test('--no-header', async () => {
    expect(
      (await rendered(rowsResult(labels), { format: 'table', header: false, columns: ['id', 'name'] })).out,
    ).toBe('1   bug\n22  a, "b"\n');
    expect((await rendered(rowsResult(labels), { format: 'csv', header: false, columns: ['id'] })).out).toBe(
      '1\n22\n',
    );
    expect((await rendered(rowsResult([]), { format: 'csv', columns: ['id'] })).out).toBe('id\n');
  });

  test('an unknown column is a usage error with the nearest name, before any output', async () => {
    await expect(
      rendered(rowsResult(labels), { format: 'csv', columns: ['nam', 'id'] }),
    ).rejects.toMatchObject({
      category: 'usage',
      detail: { problems: [{ path: '--columns', rule: 'unknown', hint: 'did you mean name?' }] },
    });
    const changed = recordResult(labels[0], { message: 'label 1 created' });
    const { err, exit } = await rendered(changed, { format: 'table', columns: ['nam'] });
    expect(exit).toBe('done');
    expect(err).toMatch(/^warning: --columns .*`nam`.*\(did you mean name\?\)/m);
  });

  test('-o name without that field is a usage error that names the others', async () => {
    await expect(rendered(rowsResult([{ key: 'x', value: 'y' }]), { format: 'name' })).rejects.toMatchObject({
      category: 'usage',
      message: expect.stringContaining('key, value'),
    });
  });
});

describe('every format renders one record', () => {
  const label = { id: 7, name: 'bug', stats: { open: 1 } };
  test.each<[Format, string]>([
    ['table', 'id     7\nname   bug\nstats  open: 1\n'],
    ['json', `${JSON.stringify(label, null, 2)}\n`],
    ['ndjson', `${JSON.stringify(label)}\n`],
    ['csv', 'id,name,stats\n7,bug,"{""open"":1}"\n'],
    ['name', '7\n'],
    ['yaml', 'id: 7\nname: bug\nstats:\n  open: 1\n'],
  ])('%s', async (format, expected) => {
    expect((await rendered(recordResult(label), { format })).out).toBe(expected);
  });

  test('the columns of the view come first, the rest is not lost', async () => {
    expect((await rendered(recordResult(label, { columns: ['name'] }), { format: 'table' })).out).toBe(
      'name   bug\nid     7\nstats  open: 1\n',
    );
    expect((await rendered(recordResult(label), { format: 'table', columns: ['stats.open'] })).out).toBe(
      'stats.open  1\n',
    );
    expect((await rendered(recordResult(label), { format: 'json', columns: ['stats.open'] })).out).toBe(
      '{\n  "stats.open": 1\n}\n',
    );
  });

  test('a text of the view replaces the table only', async () => {
    const result = recordResult(label, { text: 'drawn' });
    expect((await rendered(result, { format: 'table' })).out).toBe('drawn\n');
    expect((await rendered(result, { format: 'json' })).out).toContain('"id": 7');
    expect((await rendered(result, { format: 'table', columns: ['id'] })).out).toBe('id  7\n');
  });

  test('a list in a record is rows; a bare value is itself', async () => {
    expect((await rendered(recordResult([{ id: 1 }, { id: 2 }]), { format: 'table' })).out).toBe(
      'ID\n1\n2\n',
    );
    expect((await rendered(recordResult([{ id: 1 }, { id: 2 }]), { format: 'ndjson' })).out).toBe(
      '{"id":1}\n{"id":2}\n',
    );
    expect((await rendered(recordResult('text'), { format: 'table' })).out).toBe('text\n');
    expect((await rendered(recordResult(undefined), { format: 'json' })).out).toBe('null\n');
  });
});

test('the default format is a table on a terminal and JSON otherwise', async () => {
  expect((await rendered(rowsResult([{ id: 1 }]), {}, { tty: ['stdout'] })).out).toContain('ID');
  expect((await rendered(rowsResult([{ id: 1 }]))).out).toBe('[\n  {\n    "id": 1\n  }\n]\n');
});

describe('streaming', () => {
  test.each<[Format, string]>([
    // The rest of the last line comes with the next row, so that a message does not continue it.
    ['json', '[\n  {\n    "id": 1\n'],
    ['ndjson', '{"id":1}\n'],
    ['csv', 'id\n1\n'],
    ['table', 'ID\n1\n'],
    ['yaml', '- id: 1\n'],
    ['name', '1\n'],
  ])(
    '%s prints the first row before the last is known',
    covers('spec/program#output-1'),
    async (format, expected) => {
      const host = fakeHost();
      let seen = '';
      async function* rows(): AsyncGenerator<unknown> {
        yield { id: 1 };
        await expect.poll(() => host.out(), { interval: 1 }).not.toBe('');
        seen = host.out();
        yield { id: 2 };
      }
      await render(rowsResult(rows()), { ...quiet, format }, host, makeRedactor());
      expect(seen).toBe(expected);
    },
  );

  test('JSON is one valid array at its end, however the rows came', async () => {
    async function* rows(): AsyncGenerator<unknown> {
      for (let i = 0; i < 5; i++) {
        if (i % 2) await new Promise((resolve) => setImmediate(resolve));
        yield { i, text: 'line\nend' };
      }
    }
    const { out } = await rendered(rowsResult(rows()), { format: 'json' });
    expect(JSON.parse(out)).toEqual(Array.from({ length: 5 }, (_, i) => ({ i, text: 'line\nend' })));
    expect(out).toBe(`${JSON.stringify(JSON.parse(out), null, 2)}\n`);
  });

  test('later rows widen a column instead of losing text', async () => {
    async function* rows(): AsyncGenerator<unknown> {
      yield { a: 'x', b: 1 };
      await new Promise((resolve) => setImmediate(resolve));
      yield { a: 'longer', b: 2 };
    }
    expect((await rendered(rowsResult(rows()), { format: 'table' })).out).toBe('A  B\nx  1\nlonger  2\n');
  });

  test('a closed reader ends the output quietly with status done and stops the source', async () => {
    let isClosed = false;
    async function* rows(): AsyncGenerator<unknown> {
      try {
        for (let id = 0; ; id++) {
          await new Promise((resolve) => setImmediate(resolve));
          yield { id };
        }
      } finally {
        isClosed = true;
      }
    }
    const result: Result = {
      kind: 'rows',
      rows: rows(),
      exit: () => 'partial',
      view: { message: 'printed' },
    };
    expect(
      await rendered(result, { format: 'ndjson' }, { stdoutClosesAfter: 2, tty: ['stderr'] }),
    ).toMatchObject({
      exit: 'done',
      out: '{"id":0}\n{"id":1}\n',
      err: '',
    });
    expect(isClosed).toBe(true);
  });

  test('a page that fails keeps what was printed and fails', async () => {
    const host = fakeHost();
    async function* rows(): AsyncGenerator<unknown> {
      yield { id: 1 };
      await new Promise((resolve) => setImmediate(resolve));
      throw new Error('page 2');
    }
    await expect(
      render(rowsResult(rows()), { ...quiet, format: 'json' }, host, makeRedactor()),
    ).rejects.toThrow('page 2');
    // The array is intentionally not closed: a reader must not mistake a partial list for a complete list.
    expect(host.out()).toBe('[\n  {\n    "id": 1\n  }\n');
  });
});

describe('rendering for a terminal', () => {
  const tty: FakeHostOptions = { tty: ['stdout', 'stderr'], columns: 30, env: { NO_COLOR: '1' } };

  test('lines fit the terminal, and other output is not truncated', async () => {
    const rows = [{ id: 1, name: 'a very long name that does not fit', note: 'short' }];
    const { out } = await rendered(rowsResult(rows), { format: 'table' }, tty);
    expect(out).toBe(
      'ID  NAME                 NOTE\n1   a very long name     short\n    that does not fit\n',
    );
    expect((await rendered(rowsResult(rows), { format: 'table' }, { columns: 30 })).out).toContain(
      'does not fit',
    );
  });

  test('a response longer than the screen goes through the pager; short ones and streams do not', async () => {
    const rows = Array.from({ length: 40 }, (_, id) => ({ id }));
    const paged = async (result: Result, env: Record<string, string>) => {
      const host = fakeHost({ tty: ['stdin', 'stdout', 'stderr'], columns: 30, env });
      const pages: [string, string][] = [];
      const page = async (command: string, text: string): Promise<boolean> => pages.push([command, text]) > 0;
      Object.assign(host.terminal, { page });
      await render(result, { ...quiet, format: 'table' }, host, makeRedactor());
      return { pages, out: host.out() };
    };
    const text = `ID\n${rows.map(({ id }) => `${id}\n`).join('')}`;
    const env = { OPSCTL_PAGER: 'more', NO_COLOR: '1' };
    async function* later(): AsyncGenerator<unknown> {
      yield* rows;
    }
    expect(await paged(rowsResult(rows), env)).toEqual({ pages: [['more', text]], out: '' });
    expect(await paged(rowsResult(rows.slice(0, 2)), env)).toEqual({ pages: [], out: 'ID\n0\n1\n' });
    expect(await paged(rowsResult(later()), env)).toEqual({ pages: [], out: text });
    expect(await paged(rowsResult(rows), { ...env, OPSCTL_PAGER: '' })).toEqual({ pages: [], out: text });
  });

  test('wide characters take two places', async () => {
    const { out } = await rendered(
      rowsResult([
        { a: '日本', b: 1 },
        { a: 'x', b: 2 },
      ]),
      { format: 'table' },
    );
    expect(out).toBe('A     B\n日本  1\nx     2\n');
    expect((await rendered(recordResult({ name: '日本'.repeat(20) }), { format: 'table' }, tty)).out).toBe(
      `name  ${'日本'.repeat(6)}\n${`      ${'日本'.repeat(6)}\n`.repeat(2)}      ${'日本'.repeat(2)}\n`,
    );
  });

  const evil = '\u001b[2Jboo\u009b31m\u202e\u{e0041}';
  test.each<[string, Parameters<typeof rendered>[1]]>([
    ...(['table', 'wide', 'json', 'ndjson', 'csv', 'yaml', 'name'] as const).map(
      (format) => [format, { format }] as [string, { format: Format }],
    ),
    ['a template', { template: '{{id}} {{{id}}}\n' }],
    ['a template in a table', { template: '{{{id}}}\n', format: undefined }],
    ['columns', { columns: ['id'] }],
  ])('control characters of data never reach it: %s', async (_, options) => {
    for (const result of [
      rowsResult([{ id: evil, [evil]: evil }]),
      recordResult({ id: evil, [evil]: evil }),
    ]) {
      const { out } = await rendered(result, options, { ...tty, columns: 500 });
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be there
      expect(out).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202e\udb40]/);
      expect(out).toContain('boo');
    }
  });

  test('a text, a message or raw output bypasses the pager; a pipe gets raw output unchanged', async () => {
    expect(
      (await rendered(recordResult({}, { text: evil, message: evil }), { format: 'table' }, tty)).out +
        (await rendered(rawResult(evil), {}, tty)).out,
    ).not.toContain('\u001b');
    expect((await rendered(nothing(evil), {}, tty)).err).not.toContain('\u001b');
    expect((await rendered(rawResult(evil))).out).toBe(evil);
  });

  test('headings are bold only with color', async () => {
    expect((await rendered(rowsResult([{ id: 1 }]), { format: 'table', color: 'always' })).out).toBe(
      '\u001b[1mID\u001b[22m\n1\n',
    );
    expect((await rendered(rowsResult([{ id: 1 }]), { format: 'table' }, tty)).out).toBe('ID\n1\n');
    expect((await rendered(rowsResult([{ id: 1 }]), { format: 'json', color: 'always' })).out).not.toContain(
      '\u001b',
    );
  });

  test('an empty result is reported on stderr', async () => {
    expect(await rendered(rowsResult([]), {}, tty)).toMatchObject({ out: '', err: 'nothing found\n' });
    const guided = rowsResult([], { ifEmpty: next(['login']) });
    expect(await rendered(guided, {}, tty)).toMatchObject({
      out: '',
      err: 'nothing found; next: opsctl login\n',
    });
    expect(await rendered(guided, { quiet: true }, tty)).toMatchObject({ out: '', err: '' });
    expect((await rendered(rowsResult([]), { quiet: true }, tty)).err).toBe('');
  });
});

describe('--jq', () => {
  test.each<[string, Result, string]>([
    ['.name', recordResult({ name: 'bug' }), 'bug\n'],
    ['.', recordResult({ a: [1, { b: null }] }), '{"a":[1,{"b":null}]}\n'],
    ['.[].id', rowsResult(labels), '1\n22\n'],
    ['map(.name) | join("+")', rowsResult(labels), 'bug+a, "b"\n'],
    ['length', rowsResult([]), '0\n'],
    ['empty', recordResult({}), ''],
    ['.[] | select(.id > 1) | .stats', rowsResult(labels), '{"open":10}\n'],
  ])('%s', async (jq, result, expected) => {
    expect((await rendered(result, { jq })).out).toBe(expected);
  });

  test('--jq with -o ndjson writes each row as a separate document', async () => {
    expect((await rendered(rowsResult(labels), { jq: '.id', format: 'ndjson' })).out).toBe('1\n22\n');
  });

  test.each(['.[', 'nosuch', '.a.b | error("x")'])(
    'a program that fails is a usage error: %s',
    async (jq) => {
      await expect(rendered(recordResult({ a: { b: 1 } }), { jq })).rejects.toMatchObject({
        category: 'usage',
        message: expect.stringMatching(/^--jq: ./),
      });
    },
  );
});

test(
  '--csv-safe escapes formulas; numbers and plain CSV stay unchanged',
  covers('defect/S4-8', 'defect/R-21'),
  async () => {
    const rows = rowsResult([
      { a: '=cmd|1', b: -5, c: '@x', d: '-1', e: 'plain', f: '\uff1dcmd', g: ' \uff20x' },
    ]);
    expect((await rendered(rows, { format: 'csv', header: false, csvSafe: true })).out).toBe(
      "'=cmd|1,-5,'@x,'-1,plain,'\uff1dcmd,' \uff20x\n",
    );
    expect((await rendered(rows, { format: 'csv', header: false })).out).toBe(
      '=cmd|1,-5,@x,-1,plain,\uff1dcmd," \uff20x"\n',
    );
  },
);

describe('--jq over many rows', () => {
  test('rows after a failed row are processed; exit code 9 after output, 2 without output', async () => {
    const rows = rowsResult([{ a: 1 }, { a: 'x' }, { a: 3 }]);
    const host = fakeHost();
    const some = render(rows, { ...quiet, jq: '.a + 1', format: 'ndjson' }, host, makeRedactor());
    await expect(some).rejects.toMatchObject({
      category: 'partial',
      message: expect.stringContaining('error (at <stdin>:2): string ("x") and number (1) cannot be added'),
    });
    expect(host.out()).toBe('2\n4\n');
    await expect(rendered(rowsResult([1]), { jq: '.a', format: 'ndjson' })).rejects.toMatchObject({
      category: 'usage',
    });
  });

  test('a list that breaks off exits with 9 after output, otherwise with the code of its cause', async () => {
    const broken = (count: number): Result =>
      rowsResult(
        (async function* () {
          for (let id = 0; id < count; id++) yield { id };
          throw new AppError('network', 'the line was cut');
        })(),
      );
    const run = (count: number) => rendered(broken(count), { jq: '.id', format: 'ndjson' });
    await expect(run(2)).rejects.toMatchObject({ category: 'partial', message: 'the line was cut' });
    await expect(run(0)).rejects.toMatchObject({ category: 'network' });
  });

  test('debug writes to stderr, and rows may be grouped', async () => {
    expect(await rendered(rowsResult([1, 2]), { jq: 'debug', format: 'ndjson' })).toMatchObject({
      out: '1\n2\n',
      err: '["DEBUG:",1]\n["DEBUG:",2]\n',
    });
    expect((await rendered(rowsResult([1, 2, 3]), { jq: '[., input?]', format: 'ndjson' })).out).toBe(
      '[1,2]\n[3]\n',
    );
  });

  test('a filter that wants no more rows ends the reading', async () => {
    let given = 0;
    const endless = async function* () {
      for (;;) yield { id: given++ };
    };
    expect(
      (await rendered(rowsResult(endless()), { jq: 'first(inputs) | halt', format: 'ndjson' })).out,
    ).toBe('');
    expect(given).toBeLessThan(200_000);
  });
});

describe('redaction', () => {
  test.each<Format>(['table', 'json', 'ndjson', 'csv', 'yaml', 'name'])(
    'no format lets a secret through: %s',
    covers('spec/program#output-4'),
    async (format) => {
      const secret = 'tok-12345"x';
      const record = {
        id: secret,
        url: `https://x/?t=${encodeURIComponent(secret)}`,
        basic: Buffer.from(`me:${secret}`).toString('base64'),
      };
      for (const result of [rowsResult([record]), recordResult(record)]) {
        const { out } = await rendered(result, { format }, {}, [secret]);
        expect(out).toContain('***');
        expect(out).not.toMatch(/12345|MTIzND/);
      }
    },
  );

  test(
    'across two rows that are written apart, in messages and after --jq',
    covers('spec/program#output-4'),
    async () => {
      async function* rows(): AsyncGenerator<unknown> {
        yield { id: 'abcd' };
        await new Promise((resolve) => setImmediate(resolve));
        yield { id: 'efgh' };
      }
      expect((await rendered(rowsResult(rows()), { format: 'name' }, {}, ['abcd\nefgh'])).out).toBe('***\n');
      expect((await rendered(nothing('token hidden-1 kept'), {}, {}, ['hidden-1'])).err).toBe(
        'token *** kept\n',
      );
      expect((await rendered(recordResult({ a: 'hidden-1' }), { jq: '.a' }, {}, ['hidden-1'])).out).toBe(
        '***\n',
      );
    },
  );

  test('ready-made output is what the command meant to print', async () => {
    expect((await rendered(rawResult('hidden-1\n'), {}, {}, ['hidden-1'])).out).toBe('hidden-1\n');
  });
});

describe('messages and exits', () => {
  const told = (
    world: FakeHostOptions,
    options: Partial<OutputOptions>,
  ): Promise<{ err: string; host: FakeHost }> =>
    rendered(recordResult({ id: 1 }, { message: 'label 1 created' }), { format: 'json', ...options }, world);

  test('a message is printed for people, not for scripts or with --quiet', async () => {
    expect((await told({ tty: ['stderr'] }, {})).err).toBe('label 1 created\n');
    expect((await told({}, {})).err).toBe('');
    expect((await told({ tty: ['stderr'] }, { quiet: true })).err).toBe('');
    expect((await rendered(nothing('gone'))).err).toBe('gone\n');
  });
  test('a terminal shows a message once if the drawing contains it', async () => {
    const found = recordResult({ id: 1 }, { text: 'all good\nsee b', message: 'all good' });
    const err = async (options: Partial<OutputOptions>, ...tty: ('stdout' | 'stderr')[]) =>
      (await rendered(found, options, { tty })).err;
    expect(await err({ format: 'table' }, 'stdout', 'stderr')).toBe('');
    expect(await err({ format: 'table' }, 'stderr')).toBe('all good\n');
    expect(await err({ format: 'json' }, 'stdout', 'stderr')).toBe('all good\n');
  });

  test('the exit is the one of the result', async () => {
    expect((await rendered(recordResult({}, undefined, 'no'))).exit).toBe('no');
    expect((await rendered({ kind: 'rows', rows: [], exit: () => 'partial' })).exit).toBe('partial');
    expect((await rendered({ kind: 'nothing', exit: 'stopped' })).exit).toBe('stopped');
    expect((await rendered(rawResult('x', Buffer.from('y')))).out).toBe('xy');
  });
});

describe('a record nested deeper than any stack', () => {
  const deep = (): unknown => {
    let reply: unknown = [];
    for (let level = 0; level < 20_000; level++) reply = [{ id: level, comments: reply }];
    return reply;
  };
  test.each<[Format, number]>([
    ['json', 20_000],
    ['ndjson', 20_000],
    ['csv', 20_000],
  ])('a deeply nested record is complete as %s', async (format, levels) => {
    const { out } = await rendered(rowsResult([{ id: 1, thread: deep() }]), { format });
    expect(out.match(/comments/g)).toHaveLength(levels);
  });
  test('a table counts what is nested too deeply, and --all-fields prints all of it', async () => {
    const { out } = await rendered(rowsResult([{ id: 1, thread: deep() }]), { format: 'table' });
    expect(out.length).toBeLessThan(200);
    const all = await rendered(recordResult({ id: 1, thread: deep() }), { format: 'table', allFields: true });
    expect(all.out.match(/comments/g)?.length).toBeGreaterThanOrEqual(20_000);
  });
  test('a deeply nested record is rejected as yaml', async () => {
    await expect(rendered(recordResult({ thread: deep() }), { format: 'yaml' })).rejects.toThrow('YAML');
  });
});

test('the reference page has the row of every format', () => {
  const page = readFileSync('docs/reference/output-formats.md', 'utf8');
  for (const name of formatNames)
    expect(page, `run npm run docs: docs/reference/output-formats.md has no row of ${name}`).toContain(
      `| \`${name}\` | ${outputFormats[name].summary} |`,
    );
});

test('a long title without spaces leaves the last column on the line', async () => {
  const rows = [{ id: 1, name: '日本語の題'.repeat(12), state: 'Ready', updated_at: 'now' }];
  const columns = ['id', 'name', 'state', 'updated_at'];
  const { out } = await rendered(
    rowsResult(rows, { columns }),
    { format: 'table' },
    { tty: ['stdout', 'stderr'], columns: 80, env: { NO_COLOR: '1' } },
  );
  expect(out.split('\n')[0]).toMatch(/UPDATED/);
});

test('-o name prints the unique name of a label, which the next command accepts', async () => {
  const at = trackerInMemory();
  at.send('POST', '/labels', { name: 'two words' });
  const { out } = await at.run(['labels', 'list', '-o', 'name']);
  expect(out).toBe('two words\n');
  expect((await at.run(['labels', 'get', out.trim(), '-o', 'json'])).json()).toMatchObject({
    name: 'two words',
  });
});
