import { describe, expect, it } from 'vitest';
import type { Gate } from '../../../../src/kv/upgrade/execute/connection-checks.ts';
import { isReady, membershipIsKept } from '../../../../src/kv/upgrade/execute/health-check.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { observed, planned } from '../../../support/observations.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { naming } from '../../../support/facts.ts';
import { partlyMade } from '../../../support/context.ts';
import { covers } from '../../../support/covers.ts';

/** `1001`, or `1001L` for a learner. Undefined: the member does not respond. */
type List = readonly string[] | undefined;
const listedAs = (ids: readonly string[]) =>
  ids.map((id) => ({ id: id.replace('L', ''), is_learner: id.endsWith('L') }));
const storeOf = (ids: List) => ({
  members: async () => {
    if (ids === undefined) throw new Error('connection refused');
    return listedAs(ids);
  },
});
const kept = (own: List, others: readonly List[], before: readonly string[] = ['1001', '1002']) => {
  const plan = { ...planned(), observation: observed(undefined, { listed: listedAs(before) as never }) };
  const gate = partlyMade<Gate>({
    ...{ run: runOn(fakeHost(), { plan }), store: storeOf(own) },
    others: others.map((ids, at) => ({ name: `n${at + 1}`, store: storeOf(ids) })),
  });
  return membershipIsKept(gate);
};
const three = ['1001', '1002', '1003'];

describe('the members that a member of the new version lists', () => {
  it('the members in the list are those of the first other responding member, in any order', async () => {
    expect(await kept(three, [three.toReversed()])).toEqual({
      ...{ ok: true, detail: naming('3', 'n1', 'lists', 'members') },
    });
    expect((await kept(three, [undefined, three])).detail).toEqual(naming('3', 'n2', 'lists', 'members'));
    expect((await kept(three, [three, ['1001']])).ok).toBe(true);
  });
  it('different members are named', async () => {
    expect(await kept(['1001', '1002L'], [['1002', '1001']])).toEqual({
      ...{ ok: false, detail: 'lists 3e9, 3ea (learner), but n1 lists 3e9, 3ea' },
    });
    expect((await kept(three, [['1001', '1002']])).ok).toBe(false);
  });
  it('the list is compared with the plan only without another member', async () => {
    const skipped = { ok: null, detail: naming('skipped', 'member', 'list') };
    expect(await kept(['1002', '1001'], [])).toEqual({
      ...{ ok: true, detail: naming('2', 'lists', 'members') },
    });
    expect((await kept(['1001'], [])).ok).toBe(false);
    expect((await kept(['1001'], [], ['1001'])).ok).toBe(true);
    expect(await kept(['1001'], [], [])).toEqual(skipped);
    expect(await kept(['1001', '1002'], [undefined])).toEqual(skipped);
    expect(await kept(['1001', '1002'], [undefined, undefined])).toEqual(skipped);
  });
  it('the list is unknown while the member does not respond', async () => {
    await expect(kept(undefined, [three])).rejects.toThrow('connection refused');
  });
});

it.each([
  [200, 'ok', { ok: true, detail: '/readyz returned ok' }],
  [404, '', { ok: null, detail: naming('/readyz', 'skipped', 'version') }],
  [503, ' [-]data_corruption ', { ok: false, detail: '/readyz returned 503: [-]data_corruption' }],
])(
  'readiness is the response of /readyz: %i',
  covers('spec/store#measured-later-6'),
  async (status, text, verdict) => {
    const store = { connection: { get: async () => ({ status, text }) } };
    expect(await isReady(partlyMade<Gate>({ store }))).toEqual(verdict);
  },
);
