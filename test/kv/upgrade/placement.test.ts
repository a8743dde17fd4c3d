import { describe, expect, it } from 'vitest';
import {
  configOn,
  chooseDiscarded,
  discardStaged,
  placementOf,
  recordPlacement,
  startVersion,
} from '../../../src/kv/upgrade/placement.ts';
import type { Driver } from '../../../src/kv/upgrade/supervisors/driver.ts';
import type { JournalEntry, MemberSpec, Placement } from '../../../src/kv/engine/model.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { runOn } from '../../support/upgrade-run.ts';
import { covers } from '../../support/covers.ts';
import { partlyMade } from '../../support/context.ts';

const placed = (member: string, from: '3.3' | '3.4', config?: string): Placement => ({
  member,
  previous: { minor: from, ...(config === undefined ? {} : { config }) },
  next: { minor: from === '3.3' ? '3.4' : '3.5' },
});
const entry = (one: object): JournalEntry => ({ at: '', ...one }) as JournalEntry;

describe('the placement of a member', () => {
  it('the placement is known to a later run, by the previous version', async () => {
    const host = fakeHost();
    const first = runOn(host, { directory: '/state/c/run1' });
    await recordPlacement(first, placed('n1', '3.3', '/etc/n1.yaml.opsctl-3.3'));
    const second = runOn(host, { directory: '/state/c/run2' });
    await recordPlacement(second, placed('n1', '3.4'));
    const third = runOn(host, { directory: '/state/c/run3' });
    expect((await placementOf(third, 'n1', '3.3'))?.previous.config).toBe('/etc/n1.yaml.opsctl-3.3');
    expect((await placementOf(third, 'n1', '3.4'))?.next.minor).toBe('3.5');
    expect(await placementOf(third, 'n2', '3.3')).toBeUndefined();
  });

  it(
    'the placement returns with its configuration, whichever run rewrote it',
    covers('defect/U-6'),
    async () => {
      const host = fakeHost();
      const files = new Map([
        ['/etc/n1.yaml', 'auto-compaction-retention: "1"\n'],
        ['/etc/n1.yaml.opsctl-3.3', 'auto-compaction-retention: 1\n'],
      ]);
      const calls: string[] = [];
      const driver = partlyMade<Driver>({
        activate: async (_: MemberSpec, which: string, placement?: Placement) =>
          void calls.push(`${which} ${placement?.previous.minor}`),
        readFile: async (_: MemberSpec, path: string) => files.get(path),
        writeFile: async (_: MemberSpec, path: string, text: string) => void files.set(path, text),
        start: async () => ({}),
      });
      await recordPlacement(
        runOn(host, { directory: '/state/c/run1' }),
        placed('n1', '3.3', '/etc/n1.yaml.opsctl-3.3'),
      );
      const member = { name: 'n1', client_url: 'http://n1:2379', config_file: '/etc/n1.yaml' };
      await startVersion({ host, driver, directory: '/state/c/run2' }, member, 'old', '3.3');
      expect(files.get('/etc/n1.yaml')).toBe('auto-compaction-retention: 1\n');
      expect(calls).toEqual(['old 3.3']);
    },
  );

  it('the placement is kept in a private directory', async () => {
    const host = fakeHost();
    await recordPlacement(runOn(host, { directory: '/state/c/run1' }), placed('n1', '3.3'));
    expect((await host.files.info('/state/c/placements'))?.mode).toBe(0o700);
    expect((await host.files.info('/state/c/placements/n1.json'))?.mode).toBe(0o600);
  });

  it('the placement is kept as readable text', async () => {
    const host = fakeHost();
    await recordPlacement(runOn(host, { directory: '/state/c/run1' }), placed('n1', '3.3'));
    const text = await host.files.read('/state/c/placements/n1.json');
    expect(text?.split('\n').slice(0, 3)).toEqual(['{', '  "3.3": {', '    "member": "n1",']);
  });
});

describe('staged files', () => {
  const entries = [
    entry({ kind: 'placed', placement: placed('n1', '3.3') }),
    entry({ kind: 'placed', placement: placed('n2', '3.3') }),
    entry({ kind: 'reverted', member: 'n2' }),
  ];
  it('staged files are removed when the run is over', () => {
    expect(chooseDiscarded(entries, 'done').map(({ member }) => member)).toEqual(['n1', 'n2']);
    expect(chooseDiscarded(entries, 'aborted').map(({ member }) => member)).toEqual(['n1', 'n2']);
  });
  it('staged files stay while a resume may start them, and are removed for a reverted member', () => {
    expect(chooseDiscarded(entries, 'stopped').map(({ member }) => member)).toEqual(['n2']);
    const again = [...entries, entry({ kind: 'placed', placement: placed('n2', '3.3') })];
    expect(chooseDiscarded(again, 'failed')).toEqual([]);
  });
});

describe('run data of a member', () => {
  it('the data is written into the journal, and found there before any other record', async () => {
    const run = runOn(fakeHost(), { directory: '/state/c/run1' });
    await recordPlacement(run, placed('n1', '3.3', '/first'));
    await recordPlacement(run, placed('n2', '3.3', '/other'));
    await recordPlacement(run, placed('n1', '3.4', '/later'));
    expect(run.journal.entries.filter(({ kind }) => kind === 'placed')).toHaveLength(3);
    const of = async (member: string, from: '3.3' | '3.4' | '3.5') =>
      (await placementOf({ host: fakeHost(), directory: '/none/x', journal: run.journal }, member, from))
        ?.previous.config;
    expect([await of('n1', '3.3'), await of('n1', '3.4'), await of('n2', '3.3')]).toEqual([
      '/first',
      '/later',
      '/other',
    ]);
    expect([await of('n2', '3.4'), await of('n3', '3.3'), await of('n1', '3.5')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
  it('unreadable data is never overwritten, and a step does not start if it cannot be written', async () => {
    const damaged = fakeHost({ files: { '/state/c/placements/n1.json': '{' } });
    const run = runOn(damaged, { directory: '/state/c/run1' });
    await expect(recordPlacement(run, placed('n1', '3.3'))).rejects.toThrow('is damaged');
    expect(await damaged.files.read('/state/c/placements/n1.json')).toBe('{');
    const full = fakeHost();
    const replace = () => Promise.reject(Object.assign(new Error('x'), { code: 'ENOSPC' }));
    const stopped = runOn({ ...full, files: { ...full.files, replace } } as never, {
      directory: '/state/c/run1',
    });
    await expect(recordPlacement(stopped, placed('n1', '3.3'))).rejects.toMatchObject({
      ...{ category: 'stopped', detail: { code: 'PLACEMENT_UNWRITABLE' } },
      message: expect.stringMatching(
        /^n1 was not stopped: cannot write the record \/state\/c\/placements\/n1\.json .*disk is full/,
      ),
    });
    expect(stopped.journal.entries).toEqual([]);
  });
});

describe('a switch of the version', () => {
  const switched = async (
    which: 'old' | 'new',
    { kept = 'old text', now = 'new text', isNamed = true } = {},
  ) => {
    const told: string[] = [];
    const driver = partlyMade<Driver>({
      activate: async (_: MemberSpec, what: string) => void told.push(`activate ${what}`),
      readFile: async (_: MemberSpec, path: string) => (path === '/kept' ? kept : now),
      writeFile: async (_: MemberSpec, path: string, text: string) => void told.push(`write ${path} ${text}`),
      start: async (_: MemberSpec, what: string, given?: Placement) => {
        told.push(`start ${what} ${given?.previous.config}`);
        return { pid: 7 };
      },
    });
    const run = runOn(fakeHost(), { directory: '/state/c/run1' });
    await recordPlacement(run, placed('n1', '3.3', '/kept'));
    const member: MemberSpec = {
      name: 'n1',
      client_url: '',
      ...(isNamed ? { config_file: '/c' } : {}),
    };
    const switching = { host: run.host, driver, directory: run.directory, journal: run.journal };
    expect(await startVersion(switching, member, which, '3.3')).toEqual({ pid: 7 });
    expect(await configOn({ ...switching, plan: { from: '3.3' } }, member)).toBe(kept);
    return told;
  };
  it('a switch to the old version restores its configuration before the start', async () => {
    expect(await switched('old')).toEqual(['activate old', 'write /c old text', 'start old /kept']);
  });
  it('a switch leaves an unchanged or unnamed configuration', async () => {
    const plain = ['activate old', 'start old /kept'];
    expect(await switched('old', { now: 'old text' })).toEqual(plain);
    expect(await switched('old', { isNamed: false })).toEqual(plain);
  });
  it('a switch to the new version leaves the configuration to its step', async () => {
    expect(await switched('new')).toEqual(['activate new', 'start new /kept']);
  });
});

it('staged files are removed on the host of the member; an unreachable host is not a failure', async () => {
  const removed: string[] = [];
  const driver = partlyMade<Driver>({
    discard: async ({ name }: MemberSpec, { next }: Placement) => {
      removed.push(`${name} ${next.minor}`);
      if (name === 'n1') throw new Error('away');
    },
  });
  const cluster = { name: 'c', members: ['n1', 'n2'].map((name) => ({ name, client_url: '' })) };
  const entries = ['n1', 'n2', 'n9'].map((name) => entry({ kind: 'placed', placement: placed(name, '3.3') }));
  await discardStaged({ driver, cluster }, entries, 'done');
  expect(removed).toEqual(['n1 3.4', 'n2 3.4']);
});
