import { describe, expect, it } from 'vitest';
import { endingOf } from '../../../../src/kv/upgrade/execute/confirm.ts';
import type { Run } from '../../../../src/kv/upgrade/run.ts';
import type { Plan, PlanKind } from '../../../../src/kv/engine/model.ts';
import { fakeHost, type ScriptedReply } from '../../../support/fake-host.ts';
import { observed, planned, seen } from '../../../support/observations.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { naming } from '../../../support/facts.ts';

const listed = ['n1', 'n2'].map((name) => ({
  ...{
    id: '1',
    name,
    peer_urls: [`http://${name}:2380//`, 'http://second'],
    client_urls: [],
    is_learner: false,
  },
}));
const observation = observed([seen('n1'), seen('n2')], { listed });
const ending = (kind: PlanKind, reply: (url: string) => ScriptedReply, patch: Partial<Run> = {}) => {
  const host = fakeHost({ reply: ({ url }) => reply(url) });
  const cancelled: unknown[] = [];
  const store = (url: string) => ({
    downgrade: async (...given: unknown[]) => void cancelled.push([url, ...given]),
  });
  const plan = { ...planned(), kind } as Plan;
  const run = runOn(host, { plan, access: { store } as unknown as Run['access'], ...patch });
  return { host, run, cancelled, ...endingOf(run) };
};

describe('a downgrade', () => {
  const answers = (...texts: readonly (string | number)[]) => {
    let asked = 0;
    return (): ScriptedReply => {
      const answer = texts[asked % texts.length];
      asked += 1;
      return typeof answer === 'number' ? { status: answer, body: 'true' } : { body: answer };
    };
  };
  it('a downgrade is over when a peer reports it and no peer reports it as active', async () => {
    expect(await ending('downgrade', answers('false', ' false\n')).isOver(observation)).toBe(true);
    expect(await ending('downgrade', answers('false', 'true')).isOver(observation)).toBe(false);
    expect(await ending('downgrade', answers('odd', 'false')).isOver(observation)).toBe(true);
    expect(await ending('downgrade', answers(404, 'false')).isOver(observation)).toBe(true);
  });
  it('asks each member once, at its first address for peers, for a second', async () => {
    const { host, isOver } = ending('downgrade', answers('false'));
    await isOver(observation);
    expect(host.requests).toMatchObject(
      ['n1', 'n2'].map((name) => ({
        ...{ method: 'GET', url: `http://${name}:2380/downgrade/enabled`, maxReplyBytes: 1024 },
        ...{ timeoutMs: 1000, connectTimeoutMs: 1000 },
      })),
    );
    expect(host.requests[0]).not.toHaveProperty('tls');
  });
  it('the query uses the certificates of the cluster file, if it has any', async () => {
    const tls = { ca: 'x' };
    const { host, isOver } = ending('downgrade', answers('false'), { access: { tls } as never });
    await isOver(observation);
    expect(host.requests[0]).toMatchObject({ tls });
  });
  it('a downgrade without reports of peers counts as over twelve seconds after the first check', async () => {
    const { host, isOver, what } = ending('downgrade', () => {
      throw new Error('refused');
    });
    host.advance(60_000);
    expect(await isOver(observation)).toBe(false);
    host.advance(11_999);
    expect(await isOver(observation)).toBe(false);
    host.advance(1);
    expect(await isOver(observation)).toBe(true);
    expect(what).toEqual(naming('downgrade', 'cluster', 'unfinished'));
  });
});

describe('an upgrade', () => {
  const left = observed([seen('n1'), seen('n2', { downgrade_to: '3.3.0' })]);
  it.each(['upgrade', 'restart'] as const)(
    'an upgrade cancels a leftover downgrade, once: %s',
    async (kind) => {
      const { run, cancelled, isOver, what } = ending(kind, () => ({}));
      expect([await isOver(left), await isOver(left), await isOver(left)]).toEqual([false, false, false]);
      expect(cancelled).toEqual([[seen('n2').client_url, 'CANCEL', '']]);
      expect(run.told).toEqual([
        {
          ...{ event: 'note', level: 'warn' },
          text: naming('downgrade', '3.3.0', 'canceling', 'enabled', 'version'),
        },
      ]);
      expect([await isOver(observation), what]).toEqual([true, '']);
    },
  );
  it('an upgrade without a downgrade finishes', async () => {
    const { run, cancelled, isOver } = ending('upgrade', () => ({}));
    expect([await isOver(observation), cancelled, run.told]).toEqual([true, [], []]);
  });
});
