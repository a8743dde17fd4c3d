import { describe, expect, it } from 'vitest';
import { discarded } from '../../src/kv-upgrade/placement/discard-staged.ts';
import { placementOf, recordPlacement } from '../../src/kv-upgrade/placement/placements.ts';
import { startVersion } from '../../src/kv-upgrade/placement/switch-version.ts';
import type { Driver } from '../../src/kv-upgrade/supervisors/driver.ts';
import type { JournalEntry, MemberSpec, Placement } from '../../src/kv-upgrade/types.ts';
import { fakeHost } from '../support/fake-host.ts';
import { runOn } from '../support/upgrade-run.ts';

const placed = (member: string, from: '3.3' | '3.4', config?: string): Placement => ({
  member,
  previous: { minor: from, ...(config === undefined ? {} : { config }) },
  next: { minor: from === '3.3' ? '3.4' : '3.5' },
});
const entry = (one: object): JournalEntry => ({ at: '', ...one }) as JournalEntry;

describe('what a member ran with', () => {
  it('is known to a later run, by the version that was left', async () => {
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

  it('comes back with its configuration, whichever run rewrote it', async () => {
    const host = fakeHost();
    const files = new Map([
      ['/etc/n1.yaml', 'auto-compaction-retention: "1"\n'],
      ['/etc/n1.yaml.opsctl-3.3', 'auto-compaction-retention: 1\n'],
    ]);
    const calls: string[] = [];
    const driver = {
      activate: async (_: MemberSpec, which: string, placement?: Placement) =>
        void calls.push(`${which} ${placement?.previous.minor}`),
      readFile: async (_: MemberSpec, path: string) => files.get(path),
      writeFile: async (_: MemberSpec, path: string, text: string) => void files.set(path, text),
      start: async () => ({}),
    } as unknown as Driver;
    await recordPlacement(
      runOn(host, { directory: '/state/c/run1' }),
      placed('n1', '3.3', '/etc/n1.yaml.opsctl-3.3'),
    );
    const member = { name: 'n1', client_url: 'http://n1:2379', config_file: '/etc/n1.yaml' };
    await startVersion({ host, driver, directory: '/state/c/run2' }, member, 'old', '3.3');
    expect(files.get('/etc/n1.yaml')).toBe('auto-compaction-retention: 1\n');
    expect(calls).toEqual(['old 3.3']);
  });

  it('is kept in a private directory', async () => {
    const host = fakeHost();
    await recordPlacement(runOn(host, { directory: '/state/c/run1' }), placed('n1', '3.3'));
    expect((await host.files.info('/state/c/placements'))?.mode).toBe(0o700);
    expect((await host.files.info('/state/c/placements/n1.json'))?.mode).toBe(0o600);
  });

  it('is kept as text that an operator can read', async () => {
    const host = fakeHost();
    await recordPlacement(runOn(host, { directory: '/state/c/run1' }), placed('n1', '3.3'));
    const text = await host.files.read('/state/c/placements/n1.json');
    expect(text?.split('\n').slice(0, 3)).toEqual(['{', '  "3.3": {', '    "member": "n1",']);
  });
});

describe('what was staged', () => {
  const entries = [
    entry({ kind: 'placed', placement: placed('n1', '3.3') }),
    entry({ kind: 'placed', placement: placed('n2', '3.3') }),
    entry({ kind: 'reverted', member: 'n2' }),
  ];
  it('is removed when the run is over', () => {
    expect(discarded(entries, 'done').map(({ member }) => member)).toEqual(['n1', 'n2']);
    expect(discarded(entries, 'aborted').map(({ member }) => member)).toEqual(['n1', 'n2']);
  });
  it('stays while a resume may start it, and goes for a member that was reverted', () => {
    expect(discarded(entries, 'stopped').map(({ member }) => member)).toEqual(['n2']);
    const again = [...entries, entry({ kind: 'placed', placement: placed('n2', '3.3') })];
    expect(discarded(again, 'failed')).toEqual([]);
  });
});
