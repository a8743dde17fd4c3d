import { describe, expect, it } from 'vitest';
import {
  heldBy,
  isHeldForWindow,
  refuseOtherMembers,
  refuseNewRun,
  refuseUnseenHold,
  resumedOptions,
  holderOf,
  isHoldOver,
} from '../../../src/kv/engine/progress.ts';
import type { Store } from '../../../src/kv/client/etcd-client.ts';
import { seeHold } from '../../../src/kv/engine/locks.ts';
import type { JournalEntry, PlanOptions } from '../../../src/kv/engine/model.ts';
import { away, clusterFile, observed, planOptions, planned, seen } from '../../support/observations.ts';
import { partlyMade } from '../../support/context.ts';

const at = '2026-01-01T00:00:00.000Z';
const closed = (outcome: 'held' | 'stopped', held_for?: 'window' | 'impact' | 'operator'): JournalEntry => ({
  ...{ kind: 'closed', at, outcome, message: 'held before n1' },
  ...(held_for === undefined ? {} : { held_for }),
});
const passed = (...names: string[]): JournalEntry[] =>
  names.map((name) => ({ kind: 'end', at, step: `${name}.gate` }));
const resumed = (holds?: Pick<PlanOptions, 'hold_last' | 'hold_after'>): JournalEntry => ({
  ...{ kind: 'resumed', at, owner: { host: 'h', pid: 1 }, action: 'upgrade' },
  ...(holds === undefined ? {} : { holds }),
});
const planOf = (patch: Partial<PlanOptions>) => planned(observed(), clusterFile(), planOptions(patch));

describe('the reason of a hold', () => {
  it('the hold is the last entry of the journal', () => {
    expect(heldBy([])).toBeUndefined();
    expect(heldBy([closed('held')])).toBe('held before n1');
    expect(heldBy([closed('stopped')])).toBeUndefined();
    expect(heldBy([closed('held'), resumed()])).toBeUndefined();
    expect(
      [undefined, 'window', 'impact', 'operator'].map((why) =>
        isHeldForWindow([closed('held', why as never)]),
      ),
    ).toEqual([false, true, true, false]);
  });

  it('a hold is not passed by a command that does not name it', () => {
    const refuse =
      (entries: JournalEntry[], isNamed = false, hasWindow = false) =>
      () =>
        refuseUnseenHold({ run: 'r', entries }, { isNamed, hasWindow });
    expect(refuse([closed('held')])).toThrow('run r holds: held before n1');
    expect(refuse([closed('held')], true)).not.toThrow();
    expect(refuse([closed('held')], false, true)).toThrow();
    expect(refuse([closed('held', 'window')], false, true)).not.toThrow();
    expect(refuse([closed('held', 'window')])).toThrow();
    expect(refuse([closed('stopped')])).not.toThrow();
    const hints = (entries: JournalEntry[]): unknown => {
      try {
        refuse(entries)();
      } catch (error) {
        return (error as { detail: { tryThis: string[] } }).detail.tryThis.length;
      }
      return 0;
    };
    expect([hints([closed('held')]), hints([closed('held', 'impact')])]).toEqual([3, 4]);
  });
  it.each<[string, JournalEntry[], string | undefined]>([
    ['is unfinished', [resumed()], 'UNFINISHED_RUN'],
    ['holds before its last member', [closed('held')], 'HELD_RUN'],
    ['holds until an operator releases the hold of the cluster', [closed('held', 'operator')], 'HELD_RUN'],
    ['stopped', [closed('stopped')], undefined],
    ['reached the end of its window', [closed('held', 'window')], undefined],
  ])('a new run after a run that %s', (_, entries, code) => {
    const start = (): void => refuseNewRun({ run: 'r', directory: '/r', entries }, observed());
    if (code === undefined) expect(start).not.toThrow();
    else expect(start).toThrow(expect.objectContaining({ detail: expect.objectContaining({ code }) }));
  });

  const opened = (patch: Partial<PlanOptions> = {}): JournalEntry => ({
    ...{ kind: 'opened', at, run: 'r', action: 'upgrade', plan: planOf(patch) },
    ...{ owner: { host: 'h', pid: 1 }, cluster_file: '/c.yaml' },
  });
  it.each<[string, JournalEntry[], string | undefined]>([
    ['hold-last', [opened({ hold_last: true }), closed('held')], 'hold-last'],
    ['hold-after', [opened({ hold_last: true, hold_after: 1 }), closed('held')], 'hold-after'],
    ['operator', [opened({ hold_last: true }), closed('held', 'operator')], 'operator'],
    ['last-member', [opened(), closed('held')], 'last-member'],
    ['window', [opened({ hold_last: true }), closed('held', 'impact')], 'window'],
    ['nobody: stopped', [opened({ hold_last: true }), closed('stopped')], undefined],
    [
      'hold-last of a resume',
      [opened({ hold_after: 1 }), closed('held'), resumed({ hold_last: true }), closed('held')],
      'hold-last',
    ],
    [
      'last-member after a passed hold-last',
      [opened({ hold_last: true }), closed('held'), resumed({ hold_last: false }), closed('held')],
      'last-member',
    ],
  ])('the run is held by %s', (_, entries, by) => expect(holderOf(entries)).toBe(by));

  const later = '2026-01-01T00:00:01.000Z';
  const held = [opened({ hold_last: true }), ...passed('n2', 'n3'), closed('held')];
  const running = (versions: readonly (string | undefined)[], taken_at = later) =>
    observed(
      versions.map((server_version, i) =>
        server_version === undefined ? away(`n${i + 1}`) : seen(`n${i + 1}`, { server_version }),
      ),
      { taken_at },
    );
  const [old, fresh, next] = ['3.3.25', '3.4.45', '3.5.30'];
  it.each<[string, boolean, JournalEntry[], ReturnType<typeof running>]>([
    ['the members run both versions', false, held, running([old, fresh, fresh])],
    ['another machine finished the run', true, held, running([fresh, fresh, fresh])],
    ['the cluster has moved on to a later version', true, held, running([fresh, next, next])],
    ['the cluster was restored or rolled back elsewhere', true, held, running([old, old, old])],
    ['the run had upgraded no member yet', false, [opened(), closed('held')], running([old, old, old])],
    ['the old member does not respond', false, held, running([undefined, fresh, fresh])],
    ['an upgraded member does not respond', false, held, running([old, undefined, old])],
    ['the observation is older than the hold', false, held, running([old, old, old], at)],
    ['no member is known', false, held, { ...running([fresh]), members: [] }],
  ])('if %s, a held run is over: %s', (_, isOver, entries, observation) => {
    expect(isHoldOver(entries, observation)).toBe(isOver);
    const start = (): void => refuseNewRun({ run: 'r', directory: '/r', entries }, observation);
    if (isOver) expect(start).not.toThrow();
    else
      expect(start).toThrow(
        expect.objectContaining({
          detail: expect.objectContaining({
            code: 'HELD_RUN',
            data: { run: 'r', held_by: holderOf(entries) },
          }),
        }),
      );
  });

  /** n1 and n2 are pending in a restart from 3.5.16. */
  const restarted = (version: string, n1: string | undefined, n2 = n1): ReturnType<typeof running> =>
    observed(
      [n1, n2, at].map((started_at, i) =>
        seen(`n${i + 1}`, {
          server_version: i === 2 ? '3.5.30' : version,
          ...(started_at === undefined ? {} : { started_at }),
        }),
      ),
      { taken_at: later },
    );
  it.each<[string, boolean, string | undefined, ReturnType<typeof running>]>([
    ['each pending member started its new version', true, '3.5.30', restarted('3.5.30', later)],
    ['one of them started before the hold', false, '3.5.30', restarted('3.5.30', later, at)],
    ['their starts are unknown', false, '3.5.30', restarted('3.5.30', undefined)],
    ['they crashed and started their old version', false, '3.5.30', restarted('3.5.16', later)],
    ['they run another version', false, '3.5.30', restarted('3.5.29', later)],
    ['the restart does not change the version', false, '3.5.16', restarted('3.5.16', later)],
    ['the new version is unknown', false, undefined, restarted('3.5.30', later)],
  ])('if %s, a held restart is over: %s', (_, isOver, fresh, observation) => {
    const first = opened({ hold_last: true }) as Extract<JournalEntry, { kind: 'opened' }>;
    const host = fresh === undefined ? {} : { new_binary_version: fresh };
    const before = observed(['n1', 'n2', 'n3'].map((name) => seen(name, { server_version: '3.5.16', host })));
    const plan = {
      ...first.plan,
      ...({ kind: 'restart', from: '3.5', to: '3.5', observation: before } as const),
    };
    const entries: JournalEntry[] = [{ ...first, plan }, ...passed('n3'), closed('held')];
    expect(isHoldOver(entries, observation)).toBe(isOver);
  });

  it.each<[string, boolean, readonly [string, string]]>([
    ['each pending member runs the new program of its own host', true, ['3.5.29', '3.5.30']],
    ['each pending member runs the new program of the other host', false, ['3.5.30', '3.5.29']],
  ])('if %s, a held restart is over: %s', (_, isOver, [n1, n2]) => {
    const first = opened({ hold_last: true }) as Extract<JournalEntry, { kind: 'opened' }>;
    const hosts = ['3.5.29', '3.5.30', '3.5.30'];
    const before = observed(
      hosts.map((new_binary_version, i) =>
        seen(`n${i + 1}`, { server_version: '3.5.16', host: { new_binary_version } }),
      ),
    );
    const plan = { ...first.plan, kind: 'restart', from: '3.5', to: '3.5', observation: before } as const;
    const now = observed(
      [n1, n2, '3.5.30'].map((server_version, i) => seen(`n${i + 1}`, { server_version, started_at: later })),
      { taken_at: later },
    );
    expect(isHoldOver([{ ...first, plan }, ...passed('n3'), closed('held')], now)).toBe(isOver);
  });
  it('a member that started during the run and before the hold does not end a held restart', () => {
    const first = opened({ hold_last: true }) as Extract<JournalEntry, { kind: 'opened' }>;
    const host = { new_binary_version: '3.5.30' };
    const before = observed(['n1', 'n2', 'n3'].map((name) => seen(name, { server_version: '3.5.16', host })));
    const plan = { ...first.plan, kind: 'restart', from: '3.5', to: '3.5', observation: before } as const;
    const hold: JournalEntry = { ...closed('held'), at: '2026-01-01T00:00:01.000Z' };
    const isOver = (started_at: string): boolean =>
      isHoldOver(
        [{ ...first, plan }, ...passed('n3'), hold],
        observed(
          ['n1', 'n2', 'n3'].map((name) => seen(name, { server_version: '3.5.30', started_at })),
          { taken_at: '2026-01-01T00:00:02.000Z' },
        ),
      );
    expect(['00.999', '01.000', '01.001'].map((second) => isOver(`2026-01-01T00:00:${second}Z`))).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('a hold is pending for a run that was stopped before it, and passed after it has held', () => {
    const plan = planOf({ hold_last: true, hold_after: 1 });
    const left = (entries: JournalEntry[], given = {}) => resumedOptions(plan, entries, given);
    expect(left([closed('stopped')])).toEqual({ hold_last: true, hold_after: 1 });
    expect(left([closed('held')])).toEqual({ hold_last: false, hold_after: undefined });
    // A window is not a hold of the plan.
    expect(left([closed('held', 'window')])).toEqual({ hold_last: true, hold_after: 1 });
    expect(left([closed('held'), resumed({ hold_last: false, hold_after: 2 })])).toEqual({
      ...{ hold_last: false, hold_after: 2 },
    });
    const again = [closed('held'), resumed({ hold_last: true, hold_after: 2 }), closed('held')];
    expect(left(again)).toEqual({ hold_last: false, hold_after: undefined });
    expect(left([closed('held'), resumed()])).toEqual({ hold_last: false, hold_after: undefined });
  });

  it('a hold of the last resume counts, and not an earlier one', () => {
    const plan = planOf({ hold_last: true });
    const left = (...entries: JournalEntry[]) => resumedOptions(plan, entries, {});
    const first = resumed({ hold_last: false, hold_after: 1 });
    expect(left(first)).toEqual({ hold_last: false, hold_after: 1 });
    expect(left(first, resumed({ hold_last: true }))).toEqual({ hold_last: true, hold_after: undefined });
    expect(left(closed('held'), first)).toEqual({ hold_last: false, hold_after: 1 });
    expect(left(first, closed('stopped'))).toEqual({ hold_last: false, hold_after: 1 });
    expect(left(closed('held', 'operator'))).toEqual({ hold_last: true, hold_after: undefined });
  });

  it('--hold-after of a resume counts from the resume', () => {
    const plan = planOf({});
    expect(resumedOptions(plan, passed('n2'), { after: 1 })).toEqual({ hold_last: false, hold_after: 2 });
    expect(resumedOptions(plan, passed('n2', 'nX'), { after: 0 }).hold_after).toBe(1);
    expect(resumedOptions(plan, [], { last: true }).hold_last).toBe(true);
    expect(resumedOptions(planOf({ hold_last: true }), [], { last: false }).hold_last).toBe(false);
  });
});

it('a run of another cluster with the same name is not resumed, for any order of members', () => {
  const plan = planned();
  const file = clusterFile();
  refuseOtherMembers({ ...file, members: file.members.toReversed() }, { run: 'r' }, plan);
  expect(() => refuseOtherMembers(clusterFile(2), { run: 'r' }, plan)).toThrow(
    'run r of a cluster test has other members (n1 http://127.0.0.1:20001, n2 http://127.0.0.1:20002, n3 http://127.0.0.1:20003) than the cluster file (n1 http://127.0.0.1:20001, n2 http://127.0.0.1:20002)',
  );
});

it('a hold that no member returns is unread, with the error of the last member', async () => {
  const failing = (why: string) => partlyMade<Store>({ range: () => Promise.reject(new Error(why)) });
  expect(await seeHold([failing('first'), failing('second')])).toEqual({ hold_unread: 'second' });
  const store = partlyMade<Store>({ range: async () => ({ kvs: [], count: 0, revision: 1 }) });
  expect(await seeHold([failing('first'), store])).toEqual({ hold: null });
});
