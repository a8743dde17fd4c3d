import { describe, expect, it } from 'vitest';
import { refuseDuringUpgrade } from '../../../src/kv/operations/perform.ts';
import {
  operationRecord,
  operationRow,
  operationText,
  recordMarkdown,
} from '../../../src/kv/operations/record.ts';
import { findOperations, newOperationId, type OperationPlan } from '../../../src/kv/operations/journal.ts';
import { findRuns } from '../../../src/kv/engine/journal.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { observationOf } from './observed.ts';
import { partlyMade } from '../../support/context.ts';
import { naming } from '../../support/facts.ts';

const observation = { ...observationOf(3), cluster_version: '3.5.0' };
const plan = {
  id: '20261122T080000Z-ffff',
  operation: 'replace-member',
  subject: 'n2',
  cluster: 'test',
  digest: 'd1',
  made_at: '2026-11-22T08:00:00.000Z',
  steps: [],
  observation,
};
const owner = { user: 'ann', host: 'bastion', pid: 1 };
const lines = (entries: readonly object[]): string =>
  entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
const operations = {
  [`/state/test/operations/${plan.id}/journal.jsonl`]: lines([
    { kind: 'opened', at: '2026-11-22T08:00:00.000Z', run: plan.id, plan, owner },
    { kind: 'begin', at: '2026-11-22T08:00:01.000Z', step: 'one' },
    { kind: 'resumed', at: '2026-11-22T09:00:00.000Z', owner: { ...owner, user: 'bob' } },
    { kind: 'end', at: '2026-11-22T09:00:02.000Z', step: 'one' },
    { kind: 'closed', at: '2026-11-22T09:00:02.000Z', outcome: 'done', message: '' },
  ]),
  '/state/test/operations/20261122T100000Z-0001/journal.jsonl': '',
};

describe('a state directory that cannot be read', () => {
  const closed = (): Promise<never> =>
    Promise.reject(Object.assign(new Error('EACCES: permission denied, scandir'), { code: 'EACCES' }));
  it('an unreadable state directory differs from one without runs', async () => {
    const host = fakeHost({ files: operations });
    const unreadable = { ...host, files: { ...host.files, list: closed } };
    await expect(findOperations(unreadable, '/state', 'test')).rejects.toThrow('EACCES');
    await expect(findRuns(unreadable, '/state', 'test')).rejects.toThrow('EACCES');
  });
});

describe('operations in the audit record', () => {
  it('the versions of a row are those of the plan, or the version of the cluster at both ends', async () => {
    const upgrade = { ...plan, values: { from: '3.4', to: '3.5' } };
    const versionsOf = async (one: object) => {
      const text = operations[`/state/test/operations/${plan.id}/journal.jsonl`] ?? '';
      const opened = { kind: 'opened', at: '2026-11-22T08:00:00.000Z', run: plan.id, plan: one, owner };
      const path = `/state/test/operations/${plan.id}/journal.jsonl`;
      const host = fakeHost({
        files: { [path]: lines([opened]) + text.split('\n').slice(1).join('\n') },
      });
      return (await findOperations(host, '/state', 'test'))
        .map(operationRow)
        .map(({ from, to }) => [from, to]);
    };
    expect(await versionsOf(upgrade)).toEqual([['3.4', '3.5']]);
    expect(await versionsOf(plan)).toEqual([['3.5.0', '3.5.0']]);
  });
  it('a row contains the operator, the action, the member, and the duration', async () => {
    const host = fakeHost({ files: operations });
    const rows = (await findOperations(host, '/state', 'test')).map(operationRow);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({
      run: plan.id,
      action: 'replace-member',
      subject: 'n2',
      from: '3.5.0',
      to: '3.5.0',
      outcome: 'done',
      ...{ user: 'ann', host: 'bastion', by: ['ann@bastion', 'bob@bastion'] },
      duration_ms: 3000,
      resumes: 1,
      digest: 'd1',
    });
    expect(await findOperations(host, '/state', 'other')).toEqual([]);
  });
  it('an operation of the same second is the newest one', async () => {
    const now = Date.parse('2026-11-22T08:00:00.500Z');
    const [path, text] = Object.entries(operations)[0] as [string, string];
    const id = await newOperationId(fakeHost({ now, files: { [path]: text } }), '/state', 'test');
    expect(id > plan.id).toBe(true);
    expect(id).toMatch(/^20261122T080001Z-/);
  });
});

describe('the report of an operation', () => {
  const steps = [
    { id: 'n2.stop', kind: 'stop', title: 'stop n2', member: 'n2' },
    { id: 'n2.add', kind: 'add', title: 'add n2 again', member: 'n2' },
    { id: 'n2.start', kind: 'start', title: 'start n2', member: 'n2' },
    { id: 'n2.check', kind: 'check', title: 'check n2', member: 'n2' },
  ];
  const command = 'opsctl kv replace-member n2';
  const finding = { guard: 'data-is-given-up', level: 'warn', member: 'n2', message: 'n2 is healthy' };
  const entries = [
    { kind: 'opened', at: '2026-11-22T08:00:00.000Z', run: plan.id, plan, owner },
    { kind: 'begin', at: '2026-11-22T08:00:01.000Z', step: 'n2.stop' },
    { kind: 'end', at: '2026-11-22T08:00:02.500Z', step: 'n2.stop', detail: { was_running: true } },
    { kind: 'begin', at: '2026-11-22T08:00:03.000Z', step: 'n2.add' },
    { kind: 'failed', at: '2026-11-22T08:00:04.000Z', step: 'n2.add', reason: 'no | leader' },
    { kind: 'begin', at: '2026-11-22T08:00:05.000Z', step: 'n2.start' },
  ];
  const found = {
    plan: { ...plan, steps, command, findings: [finding] },
    entries,
    path: '/j',
  } as unknown as Parameters<typeof operationRecord>[0];
  it('the report contains the result, duration and return value of each step', () => {
    const record = operationRecord(found);
    expect(record.steps.map(({ id, outcome, duration_ms }) => [id, outcome, duration_ms])).toEqual([
      ['n2.stop', 'done', 1500],
      ['n2.add', 'failed', 1000],
      ['n2.start', 'interrupted', 0],
      ['n2.check', 'not begun', 0],
    ]);
    expect(record).toMatchObject({ outcome: 'unfinished', by: ['ann@bastion'], next: [command] });
  });
  it('the Markdown report omits the placement of a member, which only a resumed operation reads', () => {
    const placement = { member: 'n2', previous: { minor: '3.5' }, next: { minor: '3.6' } };
    const detail = { copy: '/data/n2.before', in_use_before: { n2: 7 }, placement };
    const copied = entries.map((entry) => (entry.kind === 'end' ? { ...entry, detail } : entry));
    const text = recordMarkdown(operationRecord({ ...found, entries: copied } as typeof found));
    expect(text).toContain('| done | copy /data/n2.before, in use before {"n2":7} |');
  });
  it.each(['warn', 'unknown'] as const)(
    'the plan prints a finding of level %s before the question',
    (level) => {
      const shown = { ...found.plan, notes: [], findings: [{ ...finding, level }] };
      const text = operationText(shown as unknown as OperationPlan);
      expect(text).toContain('n2 is healthy');
    },
  );
  it('the plan indents the reason of a step below its title, also when it is wrapped', () => {
    const why = 'the member does not vote before it has all data of the other members';
    const steps = [{ id: 'n2.add', kind: 'add', title: 'add n2 again', why }] as const;
    const text = operationText(
      partlyMade<OperationPlan>({ ...found.plan, notes: [], findings: [], steps }),
      60,
    );
    expect(text).toContain('\n1. add n2 again\n   (the member');
    expect(text.split('\n').filter((line) => line.startsWith('   '))).toHaveLength(2);
  });
  it('the Markdown report has a heading, the operator, a table of steps, warnings, and the next command', () => {
    const text = recordMarkdown(operationRecord(found));
    expect(text.split('\n')[0]).toEqual(naming('test', 'n2', 'unfinished', 'member'));
    expect(text).toEqual(naming('opsctl kv replace-member n2'));
    expect(text).toContain('| n2.stop | stop n2 | 1.5 s | done | was running true |');
    expect(text).toContain('| n2.add | add n2 again | 1.0 s | failed | no \\| leader |');
    expect(text).toContain('| n2.check | check n2 | – | not begun | – |');
    expect(text).toContain('| warn | data-is-given-up | n2 | n2 is healthy |');
  });
});

describe('an unfinished upgrade', () => {
  const opened = { kind: 'opened', at: '2026-11-22T08:00:00.000Z', run: 'r', plan: { options: {} } };
  const asked = (operation: 'defrag' | 'replace-member' | 'recover-space', ...more: readonly object[]) => {
    const path = '/state/test/20261122T080000Z-0001/journal.jsonl';
    const host = fakeHost({ files: { [path]: lines([opened, ...more]) } });
    return refuseDuringUpgrade(host, '/state', 'test', operation, { taken_at: opened.at, members: [] });
  };
  const closed = (outcome: string) => ({ kind: 'closed', at: opened.at, outcome, message: '' });
  it('an upgrade in progress or crashed prevents an operation', async () => {
    for (const operation of ['defrag', 'replace-member'] as const)
      await expect(asked(operation)).rejects.toMatchObject({ detail: { code: 'UNFINISHED_RUN' } });
  });
  it('held: only what repairs', async () => {
    await expect(asked('defrag', closed('held'))).rejects.toMatchObject({
      category: 'unsafe',
      detail: { code: 'HELD_RUN' },
    });
    await asked('replace-member', closed('held'));
    await asked('recover-space', closed('held'));
  });
  it('done: every operation', () => asked('defrag', closed('done')));
});
