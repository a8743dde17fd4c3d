import { describe, expect, it } from 'vitest';
import { memberSteps } from '../../../src/kv/upgrade/plan.ts';
import type {
  ClusterFile,
  MemberStatus,
  MemberSpec,
  PlanKind,
  PlanOptions,
  Step,
} from '../../../src/kv/engine/model.ts';
import { away, clusterFile, observed, planOptions, seen } from '../../support/observations.ts';
import { naming } from '../../support/facts.ts';
import { covers } from '../../support/covers.ts';

type Given = {
  readonly kind?: PlanKind;
  readonly from?: '3.2' | '3.3' | '3.5';
  readonly to?: '3.3' | '3.4' | '3.6';
  readonly file?: Partial<ClusterFile>;
  readonly options?: Partial<PlanOptions>;
  readonly others?: readonly MemberStatus[];
  readonly commands?: readonly string[];
  /** Position of the member and the number of members in the plan. */
  readonly at?: readonly [index: number, count: number];
};
/** Returns the steps of one member at this position in the plan. */
const stepsOf = (one: MemberStatus, given: Given = {}): Step[] => {
  const { kind, from = '3.3', to = '3.4', file, options, others = [], commands = [], at = [0, 2] } = given;
  const [index, count] = at;
  const order = Array.from({ length: count }, (_, i) => (i === index ? one : seen(`n${i + 7}`)));
  const input = {
    ...{
      observation: observed([one, ...others]),
      cluster: clusterFile(3, file),
      options: planOptions(options),
    },
    ...{ describe: () => commands, ...(kind === undefined ? {} : { kind }) },
  };
  return memberSteps({ input, from, to, order }, one, index);
};
const find = (kind: Step['kind'], one: MemberStatus, given?: Given): Step | undefined =>
  stepsOf(one, given).find((step) => step.kind === kind);
const kinds = (one: MemberStatus, given?: Given): string[] => stepsOf(one, given).map(({ kind }) => kind);
const [leader, follower] = [seen('n1'), seen('n2')];

describe('the steps of a member', () => {
  it('the steps are a snapshot, a stop, a start and a health check, each with its action and reason', () => {
    expect(stepsOf(follower, { commands: ['systemctl x'] })).toEqual([
      {
        ...{ id: 'n2.snapshot', kind: 'snapshot', member: 'n2', commands: ['systemctl x'] },
        ...{ title: naming('snapshot', 'n2'), why: naming('backup') },
      },
      {
        ...{ id: 'n2.stop', kind: 'stop', member: 'n2', commands: ['systemctl x'] },
        ...{ title: 'stop n2 (3.3.25)', why: naming('quorum') },
      },
      {
        ...{ id: 'n2.start', kind: 'start', member: 'n2', commands: ['systemctl x'] },
        ...{ title: 'start n2 with 3.4.45', why: naming('same member', 'data directory') },
        replaces: ['systemctl x'],
      },
      {
        ...{ id: 'n2.gate', kind: 'gate', member: 'n2', commands: ['systemctl x'] },
        ...{
          title: naming('n2', 'healthy'),
          why: naming('other members'),
        },
      },
    ]);
    expect(find('start', follower)).not.toHaveProperty('replaces');
    expect(find('start', seen('n2', { host: {} }))?.title).toBe('start n2 with 3.4');
  });
  it('the steps of a stopped member start with its start', () => {
    expect(kinds(away('n2', { host: { is_running: false } }))).toEqual(['start', 'gate']);
  });
  it('a member that does not respond is stopped first unless its process is known to have ended', () => {
    for (const host of [{ is_running: true }, {}])
      expect(kinds(away('n2', { host }))).toEqual(['stop', 'start', 'gate']);
    expect(kinds(away('n2'))).toEqual(['stop', 'start', 'gate']);
    expect(find('stop', away('n2'))?.title).toEqual(naming('stop n2', 'not respond'));
  });
});

describe('the stop', () => {
  it('the stop of the last member is the point of no return in an upgrade', () => {
    const last = find('stop', follower, { at: [1, 2] });
    expect(last).toMatchObject({
      is_point_of_no_return: true,
      why: naming('3.3', '3.4', 'last', 'member', 'cluster'),
    });
    expect(find('stop', follower, { at: [0, 2] })).not.toHaveProperty('is_point_of_no_return');
    const restart = find('stop', follower, { at: [1, 2], kind: 'restart' });
    expect(restart).not.toHaveProperty('is_point_of_no_return');
    expect(restart?.why).toBe('one member at a time; the others keep the quorum');
  });
  it('the stop of a leader without a transfer states its cost', () => {
    const old = { server_version: '3.2.32' };
    const way = { from: '3.2', to: '3.3' } as const;
    const cost =
      '; it is the leader and transfers the leadership while it stops: a write at that moment may wait until its client gives up';
    const whyOf = (one: MemberStatus, others: MemberStatus[]) =>
      find('stop', one, { ...way, others })?.why ?? '';
    expect(whyOf(seen('n1', old), [seen('n2', old)])).toContain(cost);
    expect(whyOf(seen('n1', old), [])).not.toContain(cost);
    expect(whyOf(seen('n2', old), [seen('n1', old)])).not.toContain(cost);
    expect(whyOf(leader, [follower])).not.toContain(cost);
  });
});

describe('the hand-over', () => {
  const target = (one: MemberStatus, given: Given) => find('move-leader', one, given)?.target;
  it('the transfer goes to the first member of the order, otherwise to an upgraded one', () => {
    expect(target(leader, { at: [1, 2] })).toBe('n7');
    expect(target(leader, { at: [0, 1] })).toBeUndefined();
    const upgraded = seen('n3', { server_version: '3.4.1' });
    expect(target(leader, { at: [0, 1], others: [follower, upgraded] })).toBe('n3');
    expect(target(follower, { at: [1, 2] })).toBeUndefined();
    expect(target(seen('n1', { server_version: '3.2.32' }), { at: [1, 2] })).toBeUndefined();
    expect(find('move-leader', leader, { at: [1, 2] })).toMatchObject({
      ...{ title: naming('leadership', 'n1 to n7'), member: 'n1' },
      why: naming('upgraded', 'leader', 'once'),
    });
  });
});

describe('a hold', () => {
  const hold = (options: Partial<PlanOptions>, at: readonly [number, number]) =>
    find('hold', follower, { options, at })?.why;
  it('a hold is before the last member, or after the given number', () => {
    const rest = ': the cluster stays on mixed versions, and every member can still be rolled back';
    expect(hold({ hold_last: true }, [1, 2])).toBe(`--hold-last${rest}`);
    expect(hold({ hold_last: true }, [0, 2])).toBeUndefined();
    expect(hold({ hold_after: 1 }, [1, 3])).toBe(`--hold-after 1${rest}`);
    expect(hold({ hold_after: 1 }, [0, 3])).toBeUndefined();
    expect(hold({ hold_after: 1 }, [2, 3])).toBeUndefined();
    expect(hold({ hold_last: true, hold_after: 1 }, [1, 2])).toBe(`--hold-last${rest}`);
    expect(kinds(follower, { options: { hold_last: true }, at: [1, 2] })[0]).toBe('hold');
  });
});

describe('actions between a stop and a start', () => {
  const spec = (patch: Partial<MemberSpec>): Partial<ClusterFile> => ({
    members: clusterFile().members.map((one) => ({ ...one, ...patch })),
  });
  it('a copy of the data is made on request', () => {
    expect(find('copy-data', follower, { options: { copy_data: true } })).toMatchObject({
      ...{ title: naming('n2', 'copy', 'directory'), why: naming('v2', 'copy', 'stopped', 'member') },
    });
    expect(kinds(follower)).not.toContain('copy-data');
  });
  it('v2 data is checked on the way to 3.6 if its program is named', covers('spec/store#choices-5'), () => {
    const way = { from: '3.5', to: '3.6' } as const;
    const file = { utl_binary: '/opt/utl' };
    expect(find('check-data', follower, { ...way, file })).toMatchObject({
      ...{ title: 'check n2 for v2 data', why: '3.6 does not start with it' },
      commands: ['/opt/utl check v2store --data-dir /data/n2'],
    });
    expect(find('check-data', follower, way)).toBeUndefined();
    expect(find('check-data', follower, { file })).toBeUndefined();
    const without = { ...file, ...spec({ data_dir: undefined } as never) };
    expect(find('check-data', follower, { ...way, file: without })).toBeUndefined();
  });
  it('a restart has a new configuration if both files are named', () => {
    const restart = (patch: Partial<MemberSpec>) =>
      find('configure', follower, { kind: 'restart', file: spec(patch) });
    expect(restart({ config_file: '/a', new_config_file: '/b' })).toMatchObject({
      ...{ title: naming('/a with /b'), why: naming('old file', 'kept') },
    });
    expect(restart({ config_file: '/a' })).toBeUndefined();
    expect(restart({ new_config_file: '/b' })).toBeUndefined();
  });
  it('the configuration is rewritten if the new version would not start with it', () => {
    const odd = seen('n2', { host: { config: { 'auto-compaction-retention': 24 } } });
    const upgrade = (one: MemberStatus, patch: Partial<MemberSpec> = { config_file: '/a' }) =>
      find('configure', one, { file: spec(patch) })?.title;
    expect(upgrade(odd)).toBe('rewrite /a for 3.4');
    expect(upgrade(odd, {})).toBeUndefined();
    expect(upgrade(seen('n2', { host: { config: { 'enable-grpc-gateway': true } } }))).toBeUndefined();
    expect(upgrade(follower)).toBeUndefined();
  });
});

describe('the wait after a member', () => {
  const v2 = (bytes: number) => seen('n2', { host: { ...follower.host, v2_bytes: bytes } });
  it(
    'the wait is two minutes over 50 MB of v2 data, longer from 100 MB on, and zero after the last member',
    covers('spec/store#limits-2'),
    () => {
      const wait = (bytes: number, at: readonly [number, number] = [0, 2]) =>
        find('settle', v2(bytes), { at }) as Extract<Step, { kind: 'settle' }> | undefined;
      expect(wait(50_000_000)).toBeUndefined();
      expect(wait(50_000_001)).toMatchObject({ title: 'wait 120 s', wait_seconds: 120 });
      expect(wait(100_000_000)).toMatchObject({ title: 'wait 240 s', wait_seconds: 240 });
      expect(wait(60_000_000, [1, 2])).toBeUndefined();
      expect(kinds(v2(60_000_000)).at(-1)).toBe('settle');
    },
  );
});
