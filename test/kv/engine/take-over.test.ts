import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/core/problem.ts';
import { takeOver } from '../../../src/kv/engine/locks.ts';
import type { Access } from '../../../src/kv/engine/access.ts';
import type { JournalEntry } from '../../../src/kv/engine/model.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { clusterFile, planned } from '../../support/observations.ts';
import { naming } from '../../support/facts.ts';
import { partlyMade } from '../../support/context.ts';

const at = '2026-01-01T00:00:00.000Z';
const run = '20260101T000000Z-1';
const owner = { user: 'ada', host: 'bastion', pid: 1 };
const opened: JournalEntry = {
  ...{ kind: 'opened', at, run, action: 'upgrade', plan: planned(), owner, cluster_file: '/c.yaml' },
};
const progress = JSON.stringify({ format: 1, cluster: 'test', run, written_at: at, entries: [opened] });

/** Three members; `answers` returns whether a timeout is long enough for a response. */
const machine = (answers: (timeoutMs: number | undefined) => boolean) => {
  const host = fakeHost();
  const asked: (number | undefined)[] = [];
  const access = partlyMade<Access>({
    store: (_: string, timeoutMs?: number) => ({
      range: async (key: string) => {
        const isProgress = key === 'opsctl/upgrade-progress';
        if (isProgress) asked.push(timeoutMs);
        if (!answers(timeoutMs))
          throw new AppError('network', 'context deadline exceeded', { code: 'DEADLINE_EXCEEDED' });
        return { kvs: isProgress ? [{ value: progress }] : [] };
      },
    }),
  });
  return { host, asked, take: () => takeOver(host, '/state', clusterFile(3), access) };
};

describe('the progress of another machine', () => {
  it('shared progress is requested again with more time if all members are slow', async () => {
    const made = machine((timeoutMs) => timeoutMs === 3000);
    expect(await made.take()).toEqual(naming('adopted', 'ada', 'bastion', run));
    expect(made.asked.slice(0, 6)).toEqual([undefined, undefined, undefined, 3000, 3000, 3000]);
  });
  it('shared progress is adopted immediately if members respond', async () => {
    const made = machine(() => true);
    expect(await made.take()).toEqual(naming('adopted', 'ada', 'bastion', run));
    expect(made.asked.slice(0, 3)).toEqual([undefined, undefined, undefined]);
    expect(made.host.files.readNow(`/state/test/${run}/journal.jsonl`)).toContain('"kind":"opened"');
  });
  it('shared progress is unknown if no member responds', async () => {
    const made = machine(() => false);
    await expect(made.take()).rejects.toMatchObject({
      category: 'network',
      detail: { code: 'PROGRESS_UNREAD' },
    });
    expect(made.asked).toHaveLength(6);
  });
  it('shared progress is not awaited if this machine has a run to resume', async () => {
    const made = machine(() => false);
    await made.host.files.replace(`/state/test/${run}/journal.jsonl`, `${JSON.stringify(opened)}\n`);
    await expect(made.take()).rejects.toMatchObject({ detail: { code: 'PROGRESS_UNREAD' } });
    expect(made.asked).toHaveLength(3);
  });
});
