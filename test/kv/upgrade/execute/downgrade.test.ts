import { describe, expect, it } from 'vitest';
import { cancelDowngrade, confirm, enableDowngrade } from '../../../../src/kv/upgrade/execute/confirm.ts';
import type { Run } from '../../../../src/kv/upgrade/run.ts';
import type { Plan, PlanKind, Step } from '../../../../src/kv/engine/model.ts';
import { fakeHost, type ScriptedReply } from '../../../support/fake-host.ts';
import { clusterFile, planned } from '../../../support/observations.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { naming, errorWith } from '../../../support/facts.ts';
import { covers } from '../../../support/covers.ts';

type State = {
  server: string;
  cluster: string;
  downgrade?: string | undefined;
  /** Number of observations until the last member shows a change. */
  lateLooks?: number;
  /** Consecutive peer responses about a downgrade. Absent: the peers do not respond. */
  peers?: boolean[];
};
/** Three members whose responses follow `state`. Calls of the downgrade API change it. */
const bed = (state: State, kind: PlanKind = 'downgrade') => {
  const sent: string[] = [];
  const set = (cluster: string, downgrade?: string): ScriptedReply => {
    Object.assign(state, { cluster, downgrade });
    return { body: { version: cluster } };
  };
  let late = state.lateLooks ?? 0;
  const before = state.cluster;
  const host = fakeHost({
    reply: ({ url, body }): ScriptedReply => {
      const { pathname: path, port } = new URL(url);
      if (path === '/downgrade/enabled') {
        const answer = (state.peers?.length ?? 0) > 1 ? state.peers?.shift() : state.peers?.[0];
        return answer === undefined ? { status: 404, body: 'no' } : { body: String(answer) };
      }
      const isLate = port === '20003' && sent.length > 0 && late > 0;
      if (isLate && path === '/version') late -= 1;
      const cluster = isLate ? before : state.cluster;
      if (path === '/version')
        return {
          body: {
            etcdserver: state.server,
            etcdcluster: cluster,
            ...(state.server.startsWith('3.6') ? { storage: cluster } : {}),
          },
        };
      if (path === '/health') return { body: { health: 'true' } };
      const header = { member_id: `10${port.slice(-2)}`, cluster_id: '77', revision: '10', raft_term: '2' };
      if (path.endsWith('/status'))
        return {
          body: {
            header,
            leader: '1001',
            raftIndex: '9',
            raftTerm: '2',
            dbSize: '1',
            ...(state.downgrade === undefined
              ? {}
              : { downgradeInfo: { enabled: true, targetVersion: state.downgrade } }),
          },
        };
      if (path.endsWith('/member/list'))
        return {
          body: {
            members: [1, 2, 3].map((n) => ({
              ID: `100${n}`,
              name: `n${n}`,
              peerURLs: [`http://127.0.0.1:3000${n}`],
            })),
          },
        };
      if (path.endsWith('/maintenance/downgrade')) {
        const { action, version } = JSON.parse(String(body));
        sent.push(`${action} ${version ?? ''}`.trim());
        if (action === 'ENABLE') return set('3.5.0', '3.5.0');
        if (action === 'CANCEL') return set('3.6.0');
        return { body: { version: '3.6' } };
      }
      return { body: { header } };
    },
  });
  const plan = {
    ...planned(),
    kind,
    from: '3.6',
    to: '3.5',
    ...(kind === 'upgrade' ? { from: '3.5', to: '3.6' } : {}),
  } as Plan;
  const run = runOn(host, { plan, cluster: clusterFile() });
  return { run, sent, host };
};
const step: Step = { id: 'confirm', kind: 'confirm', title: '', why: '', commands: [] };

describe('enabling a downgrade', () => {
  it('validates first, and waits until the last member is ready', async () => {
    const { run, sent } = bed({ server: '3.6.14', cluster: '3.6.0', lateLooks: 3 });
    expect(await enableDowngrade(run, step)).toEqual({ cluster_version: '3.5.0' });
    expect(sent).toEqual(['VALIDATE 3.5', 'ENABLE 3.5']);
  });
  it('does not ask twice: the store refuses the second one', async () => {
    const { run, sent } = bed({ server: '3.6.14', cluster: '3.5.0', downgrade: '3.5.0' });
    await enableDowngrade(run, step);
    expect(sent).toEqual([]);
  });
  it('stops before any member when one never becomes ready', async () => {
    const { run, host } = bed({ server: '3.6.14', cluster: '3.6.0', lateLooks: 1_000_000 });
    await expect(enableDowngrade(run, step)).rejects.toMatchObject({
      message: expect.stringContaining('n3'),
      detail: {
        code: 'NOT_READY',
        tryThis: ['opsctl kv status', 'opsctl kv resume', 'opsctl kv rollback'],
      },
    });
    expect([host.elapsed() > 30_000, host.elapsed() < 31_000]).toEqual([true, true]);
  });
});

describe('cancelling a downgrade', () => {
  it(
    'canceling a downgrade checks the reports of the members afterwards',
    covers('spec/store#measured-later-10'),
    async () => {
      const { run, sent } = bed({ server: '3.6.14', cluster: '3.5.0', downgrade: '3.5.0' });
      await cancelDowngrade(run, '3.6');
      expect(sent).toEqual(['CANCEL']);
      await cancelDowngrade(run, '3.6');
      expect(sent).toEqual(['CANCEL']);
    },
  );
  it('fails when a member stays with the older version', async () => {
    const { run } = bed({ server: '3.6.14', cluster: '3.5.0', downgrade: '3.5.0', lateLooks: 1_000_000 });
    await expect(cancelDowngrade(run, '3.6')).rejects.toThrow(
      errorWith('NOT_READY', '3.6', 'n3', 'returned', 'storage'),
    );
  });
});

describe('the end', () => {
  it('the end is awaited with the versions only; the whole cluster is inspected once a second', async () => {
    const { run, host } = bed({ server: '3.6.14', cluster: '3.5.0' }, 'upgrade');
    const began = host.elapsed();
    await expect(confirm(run, step)).rejects.toMatchObject({ detail: { code: 'NOT_CONFIRMED' } });
    const seconds = (host.elapsed() - began) / 1000;
    const asked = (path: string) => host.requests.filter(({ url }) => url.endsWith(`:20001${path}`)).length;
    expect(asked('/health')).toBeLessThanOrEqual(seconds + 1);
    expect(asked('/version')).toBeGreaterThan(5 * asked('/health'));
  });

  it('the end of a downgrade comes when the store reports it (spec/store#measured-later-12)', async () => {
    const state: State = { server: '3.5.33', cluster: '3.5.0', peers: [...Array(9).fill(true), false] };
    const { run } = bed(state);
    expect(await confirm(run, step)).toEqual({ cluster_version: '3.5.0' });
    expect(state.peers).toEqual([false]);
  });
  it('the end of a downgrade with unreachable peers comes after twice the interval of the store', async () => {
    const { run, host } = bed({ server: '3.5.33', cluster: '3.5.0' });
    const began = host.elapsed();
    await confirm(run, step);
    expect(host.elapsed() - began).toBeGreaterThanOrEqual(12_000);
  });
  it('the end of an upgrade cancels a leftover downgrade, with a message', async () => {
    const { run, sent } = bed({ server: '3.6.14', cluster: '3.5.0', downgrade: '3.5.0' }, 'upgrade');
    expect(await confirm(run, step)).toEqual({ cluster_version: '3.6.0' });
    expect(sent).toEqual(['CANCEL']);
    expect(run.told).toContainEqual(expect.objectContaining({ event: 'note', level: 'warn' }));
  });
});

describe('the member that receives the downgrade request', () => {
  it(
    'the request goes to a responding member that supports it; without one the run stops',
    covers('spec/store#measured-later-10'),
    async () => {
      const { run, sent } = bed({ server: '3.5.33', cluster: '3.6.0' });
      await expect(enableDowngrade(run, step)).rejects.toMatchObject({
        ...{ category: 'stopped', message: naming('downgrade', 'member', 'cluster', 'responds') },
        detail: { code: 'NOT_READY', tryThis: ['opsctl kv status', 'opsctl kv resume'] },
      });
      await expect(cancelDowngrade(run, '3.7')).rejects.toMatchObject({
        ...{ message: naming('downgrade', 'member', 'responds') },
        detail: { tryThis: ['opsctl kv status'] },
      });
      expect(sent).toEqual([]);
    },
  );
  it('no request is sent if every member is already ready', async () => {
    const { run, sent } = bed({ server: '3.6.14', cluster: '3.5.0' });
    expect(await enableDowngrade(run, step)).toEqual({ cluster_version: '3.5.0' });
    expect(sent).toEqual([]);
  });
  it('the request is sent even if other members report another active downgrade', async () => {
    const { run, sent } = bed({ server: '3.6.14', cluster: '3.6.0', downgrade: '3.4.0' });
    await enableDowngrade(run, step);
    expect(sent).toEqual(['VALIDATE 3.5', 'ENABLE 3.5']);
  });
});

describe('a run that is asked to stop', () => {
  const signal = AbortSignal.abort();
  it('does not wait until every member is ready', async () => {
    const { run, host } = bed({ server: '3.6.14', cluster: '3.6.0', lateLooks: 1_000_000 });
    await expect(enableDowngrade({ ...run, signal }, step)).rejects.toThrow(
      errorWith('NOT_READY', '3.5', 'n3', 'ready', 'storage'),
    );
    expect(host.elapsed()).toBe(0);
  });
  it('a stopped run lists the members whose downgrade is still active after the cancel', async () => {
    const { run } = bed({ server: '3.6.14', cluster: '3.6.0', downgrade: '3.5.0' });
    const store = (...given: Parameters<typeof run.access.store>) => ({
      ...run.access.store(...given),
      downgrade: async () => {},
    });
    await expect(
      cancelDowngrade({ ...run, access: { ...run.access, store }, signal } as Run, '3.6'),
    ).rejects.toThrow(errorWith('NOT_READY', 'downgrade', 'n1', 'n2', 'n3', 'enabled', 'canceled'));
  });
});

it('a cluster of one member has arrived when that one has', async () => {
  const { run } = bed({ server: '3.6.14', cluster: '3.6.0' }, 'upgrade');
  expect(await confirm({ ...run, cluster: clusterFile(1) }, step)).toEqual({ cluster_version: '3.6.0' });
});
