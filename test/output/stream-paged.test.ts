/** A list on a terminal of four lines, on a clock that the test advances. */
import { expect, test } from 'vitest';
import type { Host } from '../../src/platform/host.ts';
import { recordResult } from '../../src/core/result.ts';
import { makeLogger } from '../../src/output/logger.ts';
import { makeRedactor } from '../../src/output/redact.ts';
import { render } from '../../src/output/render.ts';
import { streamPaged, writePaged } from '../../src/output/page-text.ts';
import type { OutputOptions } from '../../src/output/types.ts';
import { fakeHost } from '../support/fake-host.ts';

const world = (show?: (texts: AsyncIterable<string>) => Promise<boolean>) => {
  const base = fakeHost({ tty: ['stdin', 'stdout', 'stderr'], env: { TERM: 'xterm' } });
  const sleepers: { readonly ms: number; readonly wake: () => void }[] = [];
  const sleep: Host['sleep'] = (ms, signal) =>
    new Promise((resolve, reject) => {
      const one = { ms, wake: () => resolve() };
      sleepers.push(one);
      signal?.addEventListener('abort', () => {
        sleepers.splice(sleepers.indexOf(one), 1);
        reject(signal.reason);
      });
    });
  let started = 0;
  const page = async (_: string, text: string | AsyncIterable<string>): Promise<boolean> => {
    started++;
    return (await show?.(text as AsyncIterable<string>)) ?? false;
  };
  const stdout = Object.assign(Object.create(base.terminal.stdout), { rows: 4 });
  const host: Host = { ...base, sleep, terminal: { ...base.terminal, stdout, page } };
  /** Lets every task run that can run without the clock. */
  const idle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const wake = async (): Promise<void> => {
    for (const each of sleepers.splice(0)) each.wake();
    await idle();
  };
  return { host, out: base.out, sleepers, wake, started: () => started };
};
const options: OutputOptions = { header: true, quiet: false, verbose: false };

test('rows that do not fill the screen within a second are written, and those after them at once', async () => {
  const { host, out, sleepers, wake, started } = world();
  await streamPaged(host, options, async ({ terminal: { stdout } }) => {
    await stdout.write('1\n');
    await stdout.write('2\n');
    expect([out(), sleepers.map(({ ms }) => ms)]).toEqual(['', [1000]]);
    await wake();
    expect(out()).toBe('1\n2\n');
    for (const row of ['3\n', '4\n', '5\n', '6\n']) await stdout.write(row);
    expect(out()).toBe('1\n2\n3\n4\n5\n6\n');
  });
  expect([out(), started(), sleepers]).toEqual(['1\n2\n3\n4\n5\n6\n', 0, []]);
});

test('a list that ends or fills the screen within the second leaves no timer', async () => {
  const short = world();
  await streamPaged(short.host, options, ({ terminal: { stdout } }) => stdout.write('1\n'));
  expect([short.out(), short.sleepers]).toEqual(['1\n', []]);
  let shown = '';
  const long = world(async (texts) => {
    for await (const text of texts) shown += text;
    return true;
  });
  await streamPaged(long.host, options, async ({ terminal: { stdout } }) => {
    await stdout.write('1\n');
    await stdout.write('2\n3\n4\n5\n');
    expect(long.sleepers).toEqual([]);
  });
  expect([shown, long.out()]).toEqual(['1\n2\n3\n4\n5\n', '']);
});

test('rows that wait are written once when the list fails', async () => {
  const { host, out, wake } = world();
  const failing = streamPaged(host, options, async ({ terminal: { stdout } }) => {
    await stdout.write('1\n');
    throw new Error('gone');
  });
  await expect(failing).rejects.toThrow('gone');
  await wake();
  expect(out()).toBe('1\n');
});

test('a reader who leaves the pager ends a list that waits for its next row, and stops its source', async () => {
  const { host, out } = world(async (texts) => {
    for await (const _ of texts) break;
    return true;
  });
  let isStopped = false;
  const screen = { isTaken: false, onLeft: () => (isStopped = true) };
  const list = streamPaged(host, { ...options, screen }, async ({ terminal: { stdout } }) => {
    await stdout.write('1\n2\n3\n4\n5\n').catch(() => undefined);
    await new Promise(() => {});
  });
  await expect(list).rejects.toMatchObject({ code: 'EPIPE' });
  expect([out(), isStopped, screen.isTaken]).toEqual(['', true, false]);
});
test('a reader who reads to the end stops nothing', async () => {
  const { host } = world(async (texts) => {
    for await (const _ of texts);
    return true;
  });
  let isStopped = false;
  const screen = { isTaken: false, onLeft: () => (isStopped = true) };
  await streamPaged(host, { ...options, screen }, ({ terminal: { stdout } }) =>
    stdout.write('1\n2\n3\n4\n5\n'),
  );
  expect(isStopped).toBe(false);
});

test('a check ends next to the prompt: its verdict does not go to a pager', async () => {
  const paged: string[] = [];
  const base = fakeHost({ tty: ['stdin', 'stdout', 'stderr'], env: { TERM: 'xterm' } });
  const page = async (_: string, text: string | AsyncIterable<string>): Promise<boolean> =>
    paged.push(String(text)) > 0;
  const host: Host = { ...base, terminal: { ...base.terminal, page } };
  const text = `${'passed\n'.repeat(50)}Ready\n`;
  await render(recordResult({}, { text, findings: () => [] }), options, host, makeRedactor());
  expect([paged, base.out().endsWith('Ready\n')]).toEqual([[], true]);
  await render(recordResult({}, { text }), options, host, makeRedactor());
  expect(paged).toEqual([text]);
});

test('the end of the text is reported before the reader leaves the pager', async () => {
  const seen: string[] = [];
  const isRead = async (texts: AsyncIterable<string> | string): Promise<boolean> => {
    if (typeof texts !== 'string') for await (const _ of texts) seen.push('text');
    seen.push('left');
    return true;
  };
  const screen = { isTaken: false, onWritten: () => void seen.push('written') };
  await streamPaged(world(isRead).host, { ...options, screen }, ({ terminal: { stdout } }) =>
    stdout.write('1\n2\n3\n4\n5\n'),
  );
  expect(seen).toEqual(['text', 'written', 'left']);
  seen.length = 0;
  await writePaged('1\n2\n3\n4\n5\n', world(isRead).host, { ...options, screen });
  expect(seen).toEqual(['written', 'left']);
});

test('a message that follows the first rows of a table is written after them', async () => {
  const base = fakeHost({ tty: ['stdin', 'stdout', 'stderr'], env: { OPSCTL_PAGER: 'cat', NO_COLOR: '1' } });
  const written: string[] = [];
  const put = async (text: string | Uint8Array): Promise<void> => void written.push(String(text).trim());
  const stdout = Object.assign(Object.create(base.terminal.stdout), { write: put });
  const stderr = Object.assign(Object.create(base.terminal.stderr), { write: put });
  const host: Host = { ...base, terminal: { ...base.terminal, stdout, stderr } };
  const table: OutputOptions = { ...options, format: 'table', lastNotes: [], screen: { isTaken: false } };
  const log = makeLogger(host, table, makeRedactor());
  async function* rows(): AsyncGenerator<unknown> {
    log.info('before');
    yield { id: 1 };
    await new Promise((resolve) => setImmediate(resolve));
    yield { id: 2 };
    log.info('total');
  }
  await render({ kind: 'rows', rows: rows() }, table, host, makeRedactor());
  expect(written.filter((text) => text !== '')).toEqual(['before', 'ID\n1\n2', 'total']);
});
