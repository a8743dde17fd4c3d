import { expect, test } from 'vitest';
import { discardState, openState } from '../../src/mock-server/journal.ts';
import { startMock } from '../../src/mock-server/server.ts';
import { defaultOptions, savedStateFrom } from '../../src/mock-server/service-set.ts';
import type { Host } from '../../src/platform/host.ts';
import { whatIsKeptHasNoGap, whatWasAcknowledgedIsKept } from '../simulator/invariants.ts';
import { expectEachEffectMayFail } from '../support/failing-effects.ts';
import { fakeHost } from '../support/fake-host.ts';
import { pause, slowHost } from '../support/slow-host.ts';
import { notesEntry } from '../support/small-mock.ts';
import { expectInOrder, traceHost } from '../support/trace.ts';
import { covers } from '../support/covers.ts';

const COMPACT_AT_BYTES = 400;
type Ledger = { tried: number; acknowledged: number };
const serve = async ({ files }: Host, ledger: Ledger, note: (entry: string) => void): Promise<void> => {
  const { store, journal } = await openState(files, '/mock', COMPACT_AT_BYTES);
  const notes = store.collection<string>('notes');
  for (let n = 1; n <= 8; n += 1) {
    ledger.tried = n;
    store.transact(() => notes.put(n, `${n} ${'x'.repeat(50)}`));
    await journal.whenWritten();
    ledger.acknowledged = n;
    note(`answer ${n}`);
  }
  await journal.close();
};
const kept = async ({ files }: Host): Promise<number[]> => {
  const { store, journal } = await openState(files, '/mock', COMPACT_AT_BYTES);
  const found = [...store.collection<string>('notes').values()].map((text) => Number(text.split(' ')[0]));
  await journal.close();
  return found.sort((a, b) => a - b);
};

test('a change is in the journal before its answer, and a snapshot is complete before older files are removed', async () => {
  const traced = traceHost(fakeHost());
  await serve(traced.host, { tried: 0, acknowledged: 0 }, traced.note);
  const { entries } = traced;
  for (let n = 1; n <= 8; n += 1) {
    const answered = entries.indexOf(`answer ${n}`);
    const before = entries.slice(n === 1 ? 0 : entries.indexOf(`answer ${n - 1}`), answered);
    expect(
      before.filter((entry) => /^write journal-\d: \w{8}$/.test(entry)),
      `answer ${n}`,
    ).toHaveLength(1);
  }
  expectInOrder(
    entries,
    ...[
      'sync journal-1',
      'write journal-2: opsctl-mock 1',
      'replaceStream snapshot-2 done',
      'remove journal-1',
    ],
    ...['sync journal-2', 'replace sizes.json done'],
  );
});

test(
  'the state survives the failure of each effect: it has no gap, and each acknowledged change',
  covers('spec/program#mock-server-2'),
  async () => {
    await expectEachEffectMayFail(async (fault) => {
      const disk = fakeHost();
      const traced = traceHost(disk, { fault });
      const ledger = { tried: 0, acknowledged: 0 };
      return {
        start: () => ({ traced, result: serve(traced.host, ledger, traced.note) }),
        check: async () => {
          const found = await kept(disk).catch((error: unknown) => String((error as Error).stack));
          if (typeof found === 'string') return [`the state cannot be opened: ${found}`];
          const { acknowledged, tried } = ledger;
          return [
            ...whatIsKeptHasNoGap('the state', found),
            ...whatWasAcknowledgedIsKept('the state', acknowledged, tried, Math.max(0, ...found)),
          ];
        },
      };
    }, 15);
  },
);

test('a requested compaction follows the compaction that a write started', async () => {
  const slow = slowHost(fakeHost());
  const { store, journal } = await openState(slow.host.files, '/mock', 50);
  store.transact(() => store.collection<string>('notes').put(1, 'x'.repeat(200)));
  await journal.compact();
  expect(slow.overlaps.filter((one) => /^replaceStream .* of replaceStream /.test(one))).toEqual([]);
  expect(await slow.host.files.list('/mock')).toEqual(['journal-3', 'snapshot-3']);
  await journal.close();
});

test('a close waits for the compaction that its last write starts', async () => {
  const disk = fakeHost();
  const traced = traceHost(disk, { isSlow: true });
  const { store, journal } = await openState(traced.host.files, '/mock', 50);
  store.transact(() => store.collection<string>('notes').put(1, 'x'.repeat(200)));
  await journal.close();
  const complete = [...traced.entries];
  await pause(20);
  expect(traced.entries).toEqual(complete);
  expectInOrder(complete, 'replaceStream snapshot-2 done', 'replace sizes.json done');
  expect((await disk.files.list('/mock')).toSorted()).toEqual(['journal-2', 'sizes.json', 'snapshot-2']);
});

test('a close folds a journal that has grown before it notes the sizes, which is its last change', async () => {
  for (const kilobytes of [1, 5000]) {
    const disk = fakeHost();
    const traced = traceHost(disk, { isSlow: true });
    const { store, journal } = await openState(traced.host.files, '/mock', 10_000_000);
    store.transact(() => store.collection<string>('notes').put(1, 'x'.repeat(kilobytes * 1000)));
    await journal.close();
    await pause(20);
    expect(traced.entries.at(-1)).toBe('replace sizes.json done');
    const sizes = JSON.parse(disk.files.readNow('/mock/sizes.json') ?? '{}') as object;
    const names = kilobytes === 1 ? ['journal-1'] : ['journal-2', 'snapshot-2'];
    expect(Object.keys(sizes).toSorted()).toEqual(names);
    expect((await disk.files.list('/mock')).toSorted()).toEqual([...names, 'sizes.json'].toSorted());
  }
});
test('a restored state is on disk when the restoration is complete, even if the process then ends', async () => {
  const disk = fakeHost();
  const traced = traceHost(disk, { isSlow: true });
  const { store, journal } = await openState(traced.host.files, '/mock', COMPACT_AT_BYTES);
  const mock = await startMock({
    ...{ host: traced.host, store, journal, options: defaultOptions, services: [notesEntry], documents: {} },
    ...{ seed: 'empty', port: 0, onFailure: () => undefined },
  });
  const note = { id: 7, text: 'restored', at: 0, uuid: 'u' };
  const saved = savedStateFrom(JSON.stringify({ opsctl_state: 1, collections: { notes: [[7, note]] } }));
  if (saved === undefined) throw new Error('the state was not read');
  await mock.restore(saved);
  traced.note('restored');
  const left = disk.files.all();
  expectInOrder(traced.entries, 'replaceStream snapshot-2 done', 'remove journal-1 done', 'restored');
  const after = fakeHost({ files: left });
  const again = await openState(after.files, '/mock', COMPACT_AT_BYTES);
  expect([...again.store.collection('notes').values()]).toEqual([note]);
  await again.journal.close();
  await mock.close();
});

test('the saved state is gone when its removal is complete, and other files stay', async () => {
  const slow = slowHost(fakeHost());
  const { store, journal } = await openState(slow.host.files, '/mock', 50);
  store.transact(() => store.collection<string>('notes').put(1, 'x'.repeat(200)));
  await journal.close();
  await slow.host.files.replace('/mock/other', 'kept', 0o600);
  expect((await slow.host.files.list('/mock')).length).toBeGreaterThan(1);
  await discardState(slow.host.files, '/mock');
  expect([await slow.host.files.list('/mock'), slow.pending()]).toEqual([['other'], []]);
});

test('work that the last request starts is complete, and saved, when the server has closed', async () => {
  const disk = fakeHost();
  const { store, journal } = await openState(disk.files, '/mock', 1_000_000);
  const entries: string[] = [];
  const listen: Host['network']['listen'] = async (handler, at) => {
    const listener = await disk.network.listen(handler, at);
    // A listener closes when its open requests have their responses.
    const close = async (): Promise<void> => {
      mock.env.later(async () => {
        await pause();
        store.transact(() => store.collection<string>('notes').put(1, 'from the last request'));
        entries.push('the work is done');
      });
      await listener.close();
    };
    return { ...listener, close };
  };
  const mock = await startMock({
    ...{ host: { ...disk, network: { ...disk.network, listen } }, store, journal, options: defaultOptions },
    ...{ services: [notesEntry], documents: {}, seed: 'empty', port: 0, onFailure: () => undefined },
  });
  await mock.close();
  entries.push('the server has closed');
  expect(entries.at(0)).toBe('the work is done');
  expect(entries.at(-1)).toBe('the server has closed');
  const again = await openState(fakeHost({ files: disk.files.all() }).files, '/mock', COMPACT_AT_BYTES);
  expect([...again.store.collection('notes').values()]).toEqual(['from the last request']);
  await again.journal.close();
});
