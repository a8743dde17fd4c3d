import { expect, test } from 'vitest';
import { type Host, NetworkError } from '../../../src/platform/host.ts';
import { eachRowIsCarriedOutOnce } from '../../simulator/invariants.ts';
import { expectEachEffectMayFail } from '../../support/failing-effects.ts';
import { type InMemory, trackerInMemory } from '../../support/in-memory.ts';
import { type Traced, expectInOrder, expectNoneBetween, traceHost } from '../../support/trace.ts';
import { programBed, runTraced } from '../../support/traced-program.ts';

const rows = ['row-1', 'row-2', 'row-3'];
const line = (name: string): string => `${JSON.stringify({ resource: 'labels', op: 'create', name })}\n`;
const make = (): InMemory => trackerInMemory({ 'rows.ndjson': rows.map(line).join('') });
const argv = ['bulk', '-f', 'rows.ndjson', '--journal', 'run.journal', '--concurrency', '1', '-o', 'ndjson'];
const namesIn = (world: InMemory): string[] =>
  world.send('GET', '/labels').map(({ name }: { readonly name: string }) => name);

test('a row is in the journal before its request, and its outcome is there before it is printed', async () => {
  const { traced, result } = runTraced(make(), argv);
  expect((await result).code).toBe(0);
  const { entries } = traced;
  const at = (text: string): string => entries.find((entry) => entry.includes(text)) ?? `no ${text}`;
  for (const [i] of rows.entries()) {
    expectInOrder(entries, at(`s ${i + 1}`), 'POST /api/v3/labels', 'POST /api/v3/labels done');
    expectInOrder(entries, at(`s ${i + 1}`), at(`d ${i + 1}`), `print done ${i + 1}`);
    expectNoneBetween(entries, at(`s ${i + 1}`), at(`d ${i + 1}`), `print done ${i + 1}`);
  }
});

test('the run holds its lock before it writes the journal, and removes it after the last line is synced', async () => {
  const { traced, result } = runTraced(make(), argv);
  await result;
  expectInOrder(
    traced.entries,
    ...['create run.journal.lock done', 'replace run.journal', 'print done 3'],
    ...['write run.journal: e', 'sync run.journal', 'remove run.journal.lock'],
  );
});

test('a request has its place in the shared rate before it is sent', async () => {
  const { traced, result } = runTraced(make(), argv);
  await result;
  const rate = traced.entries.find((entry) => entry.startsWith('write rate-')) ?? 'no rate';
  expectInOrder(traced.entries, rate, 'POST /api/v3/labels');
});

test('after a lost connection, the run waits, finds the record and journals it before it prints it', async () => {
  const world = make();
  let traced: Traced | undefined;
  const ran = await world.run(argv, {
    meanwhile: ({ method, path, body }) => {
      if (method !== 'POST' || namesIn(world).length > 0) return;
      world.send(method, path, body);
      throw new NetworkError('RESET', 'the connection was closed', true);
    },
    change: (host) => {
      const trace = traceHost(host, { isSlow: true });
      traced = trace;
      const sleep: Host['sleep'] = async (ms, signal) => {
        await trace.host.sleep(ms, signal);
        trace.note(`slept ${ms}`);
      };
      return { ...trace.host, sleep };
    },
  });
  expect([ran.code, namesIn(world)]).toEqual([0, rows]);
  const entries = traced?.entries ?? [];
  const journaled = entries.find((entry) => entry.includes('d 1')) ?? 'no line';
  expectInOrder(
    entries,
    ...['POST /api/v3/labels failed', 'slept 100', 'GET /api/v3/labels', 'GET /api/v3/labels done'],
    ...[journaled, 'print found 1', 'POST /api/v3/labels'],
  );
});

test('a bulk run survives the failure of each effect: every row is carried out once', async () => {
  const broken = (world: InMemory): string[] => eachRowIsCarriedOutOnce(rows, namesIn(world));
  await expectEachEffectMayFail(programBed({ make, argv, again: [...argv, '--resume'], broken }), 20);
});
