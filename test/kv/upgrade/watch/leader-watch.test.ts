import { describe, expect, it } from 'vitest';
import { newestLeader, watchLeader } from '../../../../src/kv/upgrade/watch/canary.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { runOn } from '../../../support/upgrade-run.ts';

it.each([
  [
    'what all say',
    [
      { leader: 'n1', term: 3 },
      { leader: 'n1', term: 3 },
    ],
    'n1',
  ],
  [
    'what the newest term says: the others have not heard yet',
    [
      { leader: 'n1', term: 3 },
      { leader: 'n2', term: 4 },
      { leader: 'n1', term: 3 },
    ],
    'n2',
  ],
  ['what those say that answer', [undefined, { leader: 'n3', term: 1 }], 'n3'],
  ['nobody when nobody knows', [undefined, undefined], undefined],
])('the leader is %s', (_, seen, expected) => expect(newestLeader(seen)).toBe(expected));

describe('the leader during a run', () => {
  const ids: Readonly<Record<string, string>> = { n1: '1001', n2: '1002', n3: '1003' };
  /**
   * Consecutive responses of each member: `n2:4` means leader and term, and an empty text means no response.
   * The last one repeats.
   */
  const watched = async (...looks: readonly (readonly string[])[]) => {
    const host = fakeHost();
    const asked = [0, 0, 0];
    const access = {
      store: (url: string) => ({
        status: async () => {
          const member = Number(url.slice(-1)) - 1;
          const says = looks[Math.min(asked[member] ?? 0, looks.length - 1)]?.[member];
          asked[member] = (asked[member] ?? 0) + 1;
          if (says === undefined || says === '') throw new Error('connection refused');
          const [name = '', term] = says.split(':');
          return { leader_id: ids[name], ...(term === undefined ? {} : { raft_term: Number(term) }) };
        },
      }),
    } as never;
    const run = runOn(host, { access });
    const watch = watchLeader(run);
    await expect
      .poll(
        async () => {
          await host.turn();
          return (asked[0] ?? 0) < looks.length;
        },
        { interval: 1 },
      )
      .toBe(false);
    await watch.finish();
    const looksMade = asked[0] ?? 0;
    await host.turn();
    expect(asked[0]).toBe(looksMade);
    return { told: run.told, slept: host.slept };
  };
  it('the leader is reported only when it changes', async () => {
    const { told, slept } = await watched(
      ...[
        ['n1:2', 'n1:2', 'n1:2'],
        ['n1:2', 'n2:3', 'n2:3'],
        ['n2:3', 'n2:3', 'n2:3'],
        ['n3:4', '', 'n3:4'],
      ],
    );
    expect(told).toEqual([
      { event: 'leader-changed', from: 'n1', to: 'n2' },
      { event: 'leader-changed', from: 'n2', to: 'n3' },
    ]);
    expect(new Set(slept)).toEqual(new Set([500]));
  });
  it('an unknown leader, or one outside the plan, is not reported', async () => {
    expect((await watched(['', '', ''], ['nX:9', 'nX:9', 'nX:9'])).told).toEqual([]);
  });
  it('a leader without a term counts less than one with it', async () => {
    expect((await watched(['n1', 'n2:1', 'n1'])).told).toMatchObject([{ to: 'n2' }]);
  });
});
