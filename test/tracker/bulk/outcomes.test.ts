import { expect, test } from 'vitest';
import { type Journal, journalUnwritable } from '../../../src/tracker/bulk/journal.ts';
import { PastLines } from '../../../src/tracker/bulk/previous.ts';
import { type Input, outcomes } from '../../../src/tracker/bulk/outcomes.ts';
import type { Counts, Run } from '../../../src/tracker/bulk/run.ts';
import { AppError } from '../../../src/core/problem.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { createCounts } from '../../../src/tracker/bulk/run.ts';
import { RecordKeys } from '../../../src/tracker/bulk/external-keys.ts';
import { naming } from '../../support/facts.ts';
import { contextWith } from '../../support/context.ts';

const input = (text: string, patch: Partial<Input> = {}): Input => ({
  bytes: (async function* () {
    yield Buffer.from(text);
  })(),
  format: 'ndjson',
  sizeBytes: text.length,
  path: '/x',
  ...patch,
});
/** Runs rows of 150 ms each; `answer` is the response of the service to a row. */
const running = (
  given: Input,
  answer: (name: unknown) => unknown = () => ({ id: 1 }),
  isDry = false,
  noteSent?: Journal['noteSent'],
) => {
  const host = fakeHost();
  const [said, shown] = [[] as string[], [] as string[]];
  const calls: string[] = [];
  const controller = new AbortController();
  const context = contextWith({
    host,
    signal: controller.signal,
    target: async () => ({ baseUrl: 'http://t.example', headers: {} }),
    settings: { directories: { cache: '/cache' }, profile: { name: 'p' } },
    log: {
      info: (text: string) => said.push(text),
      status: async () => ({
        update: (text: string) => shown.push(text),
        stop: () => calls.push('status stopped'),
      }),
    },
    caller:
      async () =>
      async ({ body }: { body?: Record<string, unknown> }) => {
        // opsctl shows the previous outcome during these turns.
        for (let i = 0; i < 3; i++) await host.turn();
        host.advance(150);
        return answer(body?.name);
      },
  });
  const journal: Journal = {
    past: { startedAt: 0, lines: new PastLines() },
    noteSent: noteSent ?? (async () => void calls.push('sent')),
    noteDone: () => calls.push('done'),
    noteFailed: () => calls.push('failed'),
    finish: () => calls.push('finish'),
    flush: () => calls.push('flush'),
    close: () => calls.push('close'),
  };
  const counts: Counts = createCounts();
  const run: Run = {
    ...{ context, source: given.format, defaults: { resource: 'labels', op: 'create' } },
    ...{ names: new Map(), known: { problems: async () => [] }, callers: new Map() },
    keys: new RecordKeys(context),
    ...(isDry ? {} : { journal }),
  };
  const all = async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const batch of outcomes({ run, input: given, counts, concurrency: 1, resumeLine: 'RESUME' }))
      found.push(...batch.map(({ status }) => status));
    return found;
  };
  return { all, said, shown, calls, counts, stop: () => controller.abort() };
};
const rows = (count: number): string =>
  Array.from({ length: count }, (_, i) => `{"name":"n${i}"}\n`).join('');

test('progress is shown five times a second at most, and a row is in the journal before its outcome is shown', async () => {
  const { all, shown, said, calls } = running(input(rows(4)));
  expect(await all()).toEqual(['done', 'done', 'done', 'done']);
  expect(shown).toEqual([
    '[####----] 2 of about 4 rows (50 %), 0 failed, about 300 ms left',
    '[########] 4 of 4 rows (100 %), 0 failed, about 0 ms left',
  ]);
  expect(calls.indexOf('flush')).toBeGreaterThan(calls.indexOf('done'));
  expect(calls.slice(-2)).toEqual(['status stopped', 'close']);
  expect(said).toEqual([
    '4 done, 0 failed, 0 skipped (4 created)',
    expect.stringContaining('opsctl tracker bulk undo'),
  ]);
});

test('a dry run reports that no request was sent', async () => {
  const { all, said, calls } = running(input('{"name":"a"}\n[]\n'), undefined, true);
  expect(await all()).toEqual(['would', 'failed']);
  expect(said).toEqual([naming('1 row', '1 invalid', '1 to create')]);
  expect(calls).toEqual(['status stopped']);
});

test('a rejection affects its row; a lost connection stops the run and prints the command to resume', async () => {
  const { all, counts, calls } = running(input(rows(3)), (name) => {
    if (name === 'n0') throw new AppError('refused', 'no');
    if (name === 'n1') throw new AppError('network', 'gone', { tryThis: ['wait'] });
    return { id: 1 };
  });
  await expect(all()).rejects.toMatchObject({
    category: 'network',
    detail: { tryThis: ['wait', naming('RESUME')] },
  });
  expect(counts).toEqual({ ...createCounts(), failed: 1 });
  expect(calls.filter((call) => call !== 'flush')).toEqual([
    'sent',
    'failed',
    'sent',
    'status stopped',
    'close',
  ]);
});

test('a run whose journal cannot grow continues with that journal, not with another file', async () => {
  const full = async (): Promise<void> => {
    throw journalUnwritable('/x.journal', new Error('no space left'));
  };
  const { all } = running(input(rows(2)), undefined, false, full);
  await expect(all()).rejects.toMatchObject({
    detail: { code: 'JOURNAL_UNWRITABLE', tryThis: [naming('space'), naming('RESUME')] },
  });
});

test('a stopped run reports its progress', async () => {
  const stopped = running(input(rows(3)), (name) => {
    if (name === 'n1') stopped.stop();
    return { id: 1 };
  });
  await expect(stopped.all()).rejects.toMatchObject({
    category: 'stopped',
    message: naming('2 rows', 'stopped', 'resumed'),
    detail: { tryThis: ['RESUME'] },
  });
});

test('a guessed delimiter is reported; a common or named one is not', async () => {
  const saidOf = async (text: string, patch: Partial<Input> = {}) => {
    const { all, said } = running(input(text, { format: 'csv', ...patch }));
    await all();
    return said.filter((line) => line.startsWith('reading'));
  };
  const text = 'name;color\na;#112233\n';
  expect(await saidOf(text)).toEqual(['reading CSV separated by semicolons; --delimiter changes that']);
  expect(await saidOf(text, { delimiter: ';' })).toEqual([]);
  expect(await saidOf('name,color\na,#112233\n')).toEqual([]);
});

test('a lost connection stops a dry run without a command to resume', async () => {
  const lost = new AppError('network', 'gone', { tryThis: ['wait'] });
  const broken = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from(rows(1));
    throw lost;
  };
  const dry = running(input('', { bytes: broken() }), undefined, true);
  await expect(dry.all()).rejects.toBe(lost);
  const sent = running(input('', { bytes: broken() }));
  await expect(sent.all()).rejects.toMatchObject({ detail: { tryThis: ['wait', naming('RESUME')] } });
});
