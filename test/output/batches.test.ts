import type { JqRun } from '../../src/platform/host.ts';
import { jqPieces } from '../../src/output/expressions.ts';
import { expect, test } from 'vitest';
import { parseExactJson } from '../../src/core/json.ts';
import { redactedResult } from '../../src/core/redact-secrets.ts';
import { batchesOf, inBatches, joinFirstBatches } from '../../src/output/formats.ts';

const collect = async (rows: Iterable<unknown> | AsyncIterable<unknown>): Promise<unknown[][]> => {
  const all: unknown[][] = [];
  for await (const burst of inBatches(rows)) all.push(burst);
  return all;
};
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function* pages(...sizes: number[]): AsyncGenerator<number> {
  let n = 0;
  for (const size of sizes) {
    await tick();
    for (let i = 0; i < size; i++) yield n++;
  }
}
/** Adds the maximum number of layers that a command may put between a page and the output. */
async function* layered(rows: AsyncIterable<unknown>, depth: number): AsyncGenerator<unknown> {
  yield* depth === 0 ? rows : layered(rows, depth - 1);
}

test('rows that arrive together are delivered together', async () => {
  expect(await collect([1, 2, 3])).toEqual([[1, 2, 3]]);
  expect(await collect([])).toEqual([]);
  expect((await collect(Array.from({ length: 1200 }, (_, i) => i))).map((burst) => burst.length)).toEqual([
    500, 500, 200,
  ]);
});

test.each([0, 3])('each page is one batch, through %i layers of generators', async (depth) => {
  expect((await collect(layered(pages(3, 2, 4), depth))).map((burst) => burst.length)).toEqual([3, 2, 4]);
});

test('a row is delivered before the next one arrives', async () => {
  let release: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  async function* rows(): AsyncGenerator<string> {
    yield 'first';
    await held;
    yield 'second';
  }
  const bursts = inBatches(rows());
  expect(await bursts.next()).toEqual({ done: false, value: ['first'] });
  release();
  expect(await bursts.next()).toEqual({ done: false, value: ['second'] });
});

test('rows before a failure are delivered, then the stream fails', async () => {
  async function* rows(): AsyncGenerator<number> {
    yield 1;
    await tick();
    throw new Error('page 2 failed');
  }
  const bursts = inBatches(rows());
  expect((await bursts.next()).value).toEqual([1]);
  await expect(bursts.next()).rejects.toThrow('page 2 failed');
});

test('rows that arrive together with a failure are delivered before it', async () => {
  async function* rows(): AsyncGenerator<number> {
    yield 1;
    yield 2;
    throw new Error('row 3 failed');
  }
  const bursts = inBatches(rows());
  expect((await bursts.next()).value).toEqual([1, 2]);
  await expect(bursts.next()).rejects.toThrow('row 3 failed');
});

test('a reader that leaves ends the source', async () => {
  let isClosed = false;
  async function* rows(): AsyncGenerator<number> {
    try {
      for (let i = 0; ; i++) {
        await tick();
        yield i;
      }
    } finally {
      isClosed = true;
    }
  }
  for await (const _ of inBatches(rows())) break;
  expect(isClosed).toBe(true);
});

test('rows that a command gives in lists are written in those lists', async () => {
  async function* lists(): AsyncGenerator<number[]> {
    yield [1, 2];
    yield [3];
  }
  const found: unknown[][] = [];
  for await (const burst of batchesOf({ rows: lists(), inBatches: true })) found.push(burst);
  for await (const burst of batchesOf({ rows: [4, 5] })) found.push(burst);
  expect(found).toEqual([[1, 2], [3], [4, 5]]);
});

test.each([
  ['json', ['[{"a":1},{"a":2}', ',{"a":3}', ']']],
  ['ndjson', ['{"a":1}\n{"a":2}', '\n{"a":3}', '\n']],
] as const)('jq receives the rows of a burst in one piece under -o %s', async (format, expected) => {
  const written: string[] = [];
  const run: JqRun = {
    compiled: Promise.resolve('yes'),
    write: async (data) => written.push(Buffer.from(data).toString()) > 0,
    end: () => undefined,
    output: async function* () {},
    finished: Promise.resolve({ code: 0, stderr: '' }),
    kill: async () => undefined,
  };
  async function* bursts() {
    for (const texts of [['{"a":1}', '{"a":2}'], [], ['{"a":3}']])
      yield texts.map((text) => Buffer.from(text));
  }
  const source = { rows: bursts(), inBatches: true, encoded: true } as const;
  const found = [];
  for await (const text of jqPieces(run, source, { format }, async () => undefined)) found.push(text);
  expect([written, found]).toEqual([expected, []]);
});

test('jq reads rows that a function changed, with their exact numbers', async () => {
  const written: string[] = [];
  const run: JqRun = {
    compiled: Promise.resolve('yes'),
    write: async (text) => {
      written.push(Buffer.from(text).toString());
      return true;
    },
    end: () => undefined,
    output: async function* () {},
    finished: Promise.resolve({ code: 0, stderr: '' }),
    kill: async () => undefined,
  };
  const row = '{"token":"t0","id":12345678901234567890,"link":"https://u:p@h.example/?api_key=k"}';
  const masked = '{"token":"***","id":12345678901234567890,"link":"https://***@h.example/?api_key=***"}';
  async function* bursts() {
    yield [Buffer.from(row)];
  }
  const reading = { format: 'json', read: redactedResult } as const;
  const sources = [
    { rows: bursts(), inBatches: true, encoded: true },
    { data: parseExactJson(row) },
  ] as const;
  for (const source of sources)
    for await (const _ of jqPieces(run, source, reading, async () => undefined)) expect.unreachable();
  expect(written.join('')).toBe(`[${masked}]${masked}`);
});

test('the time in which a table collects its first rows starts with the first row', async () => {
  const calls: string[] = [];
  const elapse: (() => void)[] = [];
  const sleep = (): Promise<void> => {
    calls.push('sleep');
    return new Promise((resolve) => void elapse.push(resolve));
  };
  async function* rows(): AsyncGenerator<unknown[]> {
    await tick();
    calls.push('first row');
    yield [1];
    await tick();
    yield [2, 3];
    for (const wake of elapse) wake();
    await tick();
    yield [4];
  }
  const joined: unknown[][] = [];
  for await (const burst of joinFirstBatches(rows(), sleep)) joined.push(burst);
  expect(calls).toEqual(['first row', 'sleep']);
  expect(joined).toEqual([[1, 2, 3], [4]]);
});

test('one batch may have more rows than a call accepts as arguments', async () => {
  const rows = Array.from({ length: 200_000 }, (_, i) => i);
  const joined: unknown[][] = [];
  const batches = batchesOf({
    rows: (async function* () {
      yield rows;
    })(),
    inBatches: true,
  });
  for await (const burst of joinFirstBatches(batches, () => Promise.resolve())) joined.push(burst);
  expect(joined.map((burst) => burst.length)).toEqual([rows.length]);
});
