import { describe, expect, it } from 'vitest';
import { downgradeLeft, giveUp, refuseWhileDown } from '../../../../src/kv/upgrade/execute/ending.ts';
import type { JournalEntry, MemberStatus, PlanKind } from '../../../../src/kv/engine/model.ts';
import { away, seen } from '../../../support/observations.ts';
import { smallCluster } from '../../../support/small-cluster.ts';

const plan = { kind: 'downgrade', from: '3.6', to: '3.5' } as const;
const at = (server_version: string, cluster_version: string, downgrade_to?: string) =>
  seen('n1', { server_version, cluster_version, ...(downgrade_to === undefined ? {} : { downgrade_to }) });

describe('the downgrade of an abandoned run', () => {
  it.each([
    ['nothing was enabled', undefined, [at('3.6.14', '3.6.0'), at('3.6.14', '3.6.0')]],
    ['enabled a moment ago', 'cancelled', [at('3.6.14', '3.6.0', '3.5.0'), at('3.6.14', '3.6.0')]],
    ['enabled, and every member is ready', 'cancelled', [at('3.6.14', '3.5.0', '3.5.0')]],
    ['cancelled a moment ago by somebody', 'cancelled', [at('3.6.14', '3.5.0')]],
    ['one member has followed', 'enabled', [at('3.5.33', '3.5.0'), at('3.6.14', '3.5.0', '3.5.0')]],
    ['every member has followed', undefined, [at('3.5.33', '3.5.0'), at('3.5.33', '3.5.0')]],
  ] as const)('%s: %s', (_, left, members) => {
    expect(downgradeLeft(plan, members)).toBe(left);
  });
  it('abandoning an upgrade does not concern a downgrade', () => {
    const upgrade = { from: '3.5', to: '3.6' } as const;
    expect(downgradeLeft(upgrade, [at('3.6.14', '3.5.0', '3.5.0')])).toBeUndefined();
  });
});

it('a run is not abandoned while a member is down', () => {
  const members = [seen('n1'), away('n2')];
  expect(() => refuseWhileDown(members)).toThrow('n2 is down');
  expect(refuseWhileDown(members.slice(0, 1))).toBeUndefined();
});
it('several members that are down are named together', () => {
  const refused = (...names: string[]) => {
    try {
      refuseWhileDown([seen('n1'), ...names.map((name) => away(name))]);
    } catch (error) {
      return error;
    }
    return undefined;
  };
  expect(refused('n2')).toMatchObject({
    ...{ category: 'unsafe', message: 'n2 is down: the run cannot be aborted in this state' },
    detail: { code: 'MEMBER_DOWN', tryThis: ['opsctl kv resume', 'opsctl kv rollback'] },
  });
  expect(refused('n2', 'n3')).toMatchObject({ message: expect.stringMatching(/^n2, n3 are down: /) });
  expect(refused()).toBeUndefined();
});

describe('an abandoned run', () => {
  const entries = [{ kind: 'end', at: '', step: 'n2.gate' }] as JournalEntry[];
  const given = async (kind: PlanKind, members: readonly MemberStatus[], canCancel = true) => {
    const small = smallCluster(kind);
    const made = await small.plan();
    let closed = 0;
    const { append } = small.host.files;
    small.host.files.append = (...where) => ({
      ...append(...where),
      close: () => {
        closed += 1;
      },
    });
    if (!canCancel) for (const name of ['n1', 'n2', 'n3']) small.end(name);
    const { host, cluster, access, driver } = small;
    const found = { run: 'r', directory: '/state/test/r', entries };
    const report = await giveUp({ host, cluster, access, driver, found, plan: made, members }).catch(
      (error: unknown) => error,
    );
    const kinds = (host.files.readNow('/state/test/r/journal.jsonl') ?? '').match(/"kind":"[a-z-]+"/g);
    return { report, kinds, closed: () => closed };
  };
  it('abandoning lists the versions of the members, and closes the journal', async () => {
    const members = [seen('n1', { server_version: '3.4.45' }), seen('n2', { server_version: '3.5.30' })];
    const { report, kinds, closed } = await given('upgrade', members);
    expect(report).toEqual({
      ...{ run: 'r', outcome: 'aborted', upgraded: ['n2'], downgrade: null },
      message: 'run r aborted; on 3.5: n2',
    });
    expect([kinds, closed()]).toEqual([['"kind":"closed"'], 1]);
    const nobody = await given('upgrade', [seen('n1', { server_version: '3.4.45' })]);
    expect(nobody.report).toMatchObject({ message: 'run r aborted; on 3.5: no member', upgraded: [] });
  });
  it('the keys of the run are removed before the last line, and the shared progress after it', async () => {
    const small = smallCluster('upgrade');
    const made = await small.plan();
    const { host, cluster, driver } = small;
    const order: string[] = [];
    const { append } = host.files;
    host.files.append = (...where) => {
      const file = append(...where);
      return {
        ...file,
        write: (line) => {
          order.push(String(line).includes('"kind":"closed"') ? 'closed' : 'another line');
          file.write(line);
        },
      };
    };
    const access: typeof small.access = {
      ...small.access,
      store: (url) => {
        const store = small.access.store(url);
        return {
          ...store,
          del: (key, ...more) => {
            order.push(key);
            return store.del(key, ...more);
          },
        };
      },
    };
    const found = { run: 'r', directory: '/state/test/r', entries };
    const members = [seen('n1', { server_version: '3.4.45' })];
    await giveUp({ host, cluster, access, driver, found, plan: made, members });
    expect(order.indexOf('closed')).toBeGreaterThan(order.indexOf('opsctl/canary/r'));
    expect(order.indexOf('closed')).toBeGreaterThan(order.indexOf('opsctl/probe/r/'));
    expect(order.indexOf('closed')).toBeLessThan(order.length - 1);
  });
  it('a run whose downgrade cannot be canceled is not abandoned, and its journal is still closed', async () => {
    const members = [
      seen('n1', { server_version: '3.6.12', cluster_version: '3.6.0', downgrade_to: '3.5.0' }),
    ];
    const { report, kinds, closed } = await given('downgrade', members, false);
    expect(report).toMatchObject({
      ...{ category: 'stopped', message: expect.stringMatching(/^run r was not aborted: ./) },
      detail: {
        code: 'NOT_CANCELLED',
        tryThis: ['opsctl kv status', 'opsctl kv abort', 'opsctl kv downgrade --cancel'],
      },
    });
    expect([kinds, closed()]).toEqual([['"kind":"begin"'], 1]);
  });
});
