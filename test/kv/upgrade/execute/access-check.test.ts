/** A client that the member rejected before its stop must also be rejected by the new version. */
import { describe, expect, it } from 'vitest';
import { accessIsKept, recordAccess } from '../../../../src/kv/upgrade/execute/connection-checks.ts';
import { openGate, passGate } from '../../../../src/kv/upgrade/execute/health-check.ts';
import { MemberFailure } from '../../../../src/kv/upgrade/run.ts';
import type { Probed } from '../../../../src/platform/host.ts';
import type { Plan, PlanKind, Step } from '../../../../src/kv/engine/model.ts';
import { AppError, type Category } from '../../../../src/core/problem.ts';
import { smallCluster } from '../../../support/small-cluster.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { naming } from '../../../support/facts.ts';

const stop = { id: 'n2.stop', kind: 'stop', member: 'n2', title: '', why: '', commands: [] } as Step;
const answers: Record<string, Probed['answer']> = {};
/** n2 uses TLS for clients and peers. The other members are irrelevant here. */
const scene = async (
  before: Record<string, Probed['answer']>,
  kind: PlanKind = 'upgrade',
  accept: string[] = [],
) => {
  const small = smallCluster(kind);
  const plan = await small.plan();
  const { cluster, access, driver } = small;
  const { port } = new URL(cluster.members[1]?.client_url ?? '');
  const members = cluster.members.map((one) =>
    one.name === 'n2'
      ? { ...one, client_url: `https://127.0.0.1:${port}`, peer_url: 'https://127.0.0.1:9' }
      : one,
  );
  Object.assign(
    answers,
    { certificate: undefined, plain: undefined, 'peer-certificate': undefined, 'peer-plain': undefined },
    before,
  );
  const probe = async (url: string): Promise<Probed> => {
    const isPeer = new URL(url).port === '9';
    const name = `${isPeer ? 'peer-' : ''}${url.startsWith('https:') ? 'certificate' : 'plain'}`;
    const answer = answers[name];
    return answer === undefined ? {} : { answer };
  };
  const host = { ...small.host, network: { ...small.host.network, probe } };
  const options = { ...plan.options, accept };
  const run = runOn(
    host,
    { cluster: { ...cluster, members }, access, plan: { ...plan, options } as Plan },
    driver,
  );
  return { run, gate: openGate(run, 'n2', plan.from) };
};

describe('anonymous connections', () => {
  it.each(['certificate', 'plain', 'peer-certificate', 'peer-plain'])(
    '%s: rejected before, accepted now',
    async (name) => {
      const { run, gate } = await scene({ [name]: 'rejected' });
      await recordAccess(run, stop);
      expect(await accessIsKept(gate)).toMatchObject({
        ok: true,
        detail: expect.stringMatching(/^rejects .*, as before$/),
      });
      answers[name] = 'accepted';
      expect(await accessIsKept(gate)).toMatchObject({ ok: false, isFinal: true });
      await expect(passGate(gate, 0)).rejects.toBeInstanceOf(MemberFailure);
      answers[name] = undefined;
      expect(await accessIsKept(gate)).toMatchObject({
        ok: false,
        detail: naming('not respond', 'in time'),
      });
    },
  );
  it.each<[string, Category, string, boolean | null]>([
    ['a user that is missing', 'no', 'USER_NEEDED', true],
    ['a certificate with a Common Name', 'no', 'CERTIFICATE_NAME', true],
    ['an error of the category auth', 'auth', 'ANY', true],
    ['a lost connection', 'network', 'RESET', null],
  ])('%s: a check without a user has the verdict of a rejection, or none', async (_, category, code, ok) => {
    const small = smallCluster('upgrade');
    const plan = await small.plan();
    const { host, cluster, driver } = small;
    const refuse = async (): Promise<never> => {
      throw new AppError(category, 'refused', { code });
    };
    const access = {
      ...small.access,
      anonymous: (url: string) => ({ ...small.access.anonymous(url), range: refuse }),
    };
    const run = runOn(host, { cluster, access, plan }, driver);
    await recordAccess(run, stop);
    expect((await accessIsKept(openGate(run, 'n2', plan.from))).ok).toBe(ok);
  });
  it('a list of hosts rejects other names before and after the start', async () => {
    const small = smallCluster('upgrade');
    const plan = await small.plan();
    const { cluster, access, driver } = small;
    const asked: (string | undefined)[] = [];
    let answer: Probed = { answer: 'rejected' };
    const probe = async (_: string, __: number, name?: string): Promise<Probed> => {
      asked.push(name);
      return name === undefined ? {} : answer;
    };
    const host = { ...small.host, network: { ...small.host.network, probe } };
    const run = runOn(host, { cluster, access, plan }, driver);
    const gate = openGate(run, 'n2', plan.from);
    await recordAccess(run, stop);
    expect(asked).toContain('opsctl.invalid');
    expect(await accessIsKept(gate)).toMatchObject({ ok: true, detail: naming('host name', 'as before') });
    answer = { answer: 'accepted' };
    expect(await accessIsKept(gate)).toMatchObject({ ok: false, isFinal: true });
    await expect(passGate(gate, 0)).rejects.toBeInstanceOf(MemberFailure);
    answer = {};
    expect(await accessIsKept(gate)).toMatchObject({ ok: false, detail: naming('not respond') });
  });
  it('the record of the first stop of a run counts', async () => {
    const { run, gate } = await scene({ certificate: 'rejected' });
    await recordAccess(run, stop);
    Object.assign(answers, { certificate: 'accepted', plain: 'rejected' });
    await recordAccess(run, stop);
    expect(await accessIsKept(gate)).toMatchObject({ ok: false });
  });
  it('connections that were accepted before are no finding; a journal of an earlier version has no record', async () => {
    const { run, gate } = await scene({ certificate: 'accepted' });
    expect((await accessIsKept(gate)).ok).toBeNull();
    await recordAccess(run, stop);
    // The other connections had no response, so the member may have rejected them.
    expect((await accessIsKept(gate)).ok).toBeNull();
  });
  it('passes if the old version accepted every kind of anonymous connection', async () => {
    const open = ['certificate', 'plain', 'peer-certificate', 'peer-plain'].map((name) => [name, 'accepted']);
    const { run, gate } = await scene(Object.fromEntries(open));
    await recordAccess(run, stop);
    expect(await accessIsKept(gate)).toMatchObject({ ok: true, detail: naming('accepted', 'all') });
  });
  it('a missing answer before the stop is a warning of the run', async () => {
    const { run } = await scene({});
    await recordAccess(run, stop);
    expect(run.told).toContainEqual(expect.objectContaining({ event: 'note', level: 'warn' }));
  });
  it('a restart with another configuration may accept anonymous connections with --accept; an upgrade never may', async () => {
    for (const [kind, accept, ok] of [
      ['restart', ['configuration-fits'], true],
      ['restart', [], false],
      ['upgrade', ['configuration-fits'], false],
    ] as const) {
      const { run, gate } = await scene({ certificate: 'rejected' }, kind, [...accept]);
      await recordAccess(run, stop);
      answers['certificate'] = 'accepted';
      expect((await accessIsKept(gate)).ok).toBe(ok);
    }
  });
});
