/** What a resume does first decides whether a probe that cannot work refuses it. */
import { expect, it } from 'vitest';
import { confirmStart } from '../../../../src/commands/kv/run.ts';
import type { JournalEntry } from '../../../../src/kv/engine/model.ts';
import { stepId } from '../../../../src/kv/engine/steps.ts';
import { findFirstAct } from '../../../../src/kv/upgrade/execute/loop.ts';
import { contextWith } from '../../../support/context.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { conducted, journalOf, smallCluster } from '../../../support/small-cluster.ts';

const held = async () => {
  const small = smallCluster();
  const plan = await small.plan({ hold_after: 1 });
  await conducted(small, plan);
  return { small, plan, entries: journalOf(small, plan) };
};
it('a resume of a held run starts with the next member', async () => {
  const { small, plan, entries } = await held();
  expect(await findFirstAct(small, plan, entries)).toEqual({ isNextMember: true });
});
it('a resume finishes a member that the run has stopped before the next member', async () => {
  const { small, plan, entries } = await held();
  const next = plan.order.find((name) => small.members(name).which === 'old') as string;
  const at = entries.at(-1)?.at as string;
  const stop = stepId(next, 'stop');
  const crashed: JournalEntry[] = [
    ...entries,
    { kind: 'begin', at, step: stop },
    { kind: 'end', at, step: stop },
  ];
  small.end(next);
  expect(await findFirstAct(small, plan, crashed)).toEqual({ isNextMember: false });
});
it('a probe that cannot work refuses a start, and not a resume that first finishes a member', async () => {
  const host = fakeHost({ run: () => ({ code: 127 }) });
  const start = (checksProbes: boolean) =>
    confirmStart(
      contextWith({ host, isConfirmed: true, isInteractive: false, log: { hide: () => {} } }),
      'c',
      'Continue?',
      { 'pause-while-command': ['probe'] },
      { checksProbes },
    );
  await expect(start(true)).rejects.toMatchObject({
    detail: { problems: [{ path: '--pause-while-command' }] },
  });
  expect(await start(false)).toBeUndefined();
});
