import { describe, expect, it } from 'vitest';
import { metricsFile, metricsText, type Progress } from '../../../../src/kv/upgrade/present/notify.ts';
import type { Outcome, UpgradeEvent } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { away, observed, planned, seen } from '../../../support/observations.ts';
import { naming } from '../../../support/facts.ts';

const named = { cluster: 'prod', run: 'r1', action: 'upgrade', from: '3.3', to: '3.4' };
const progress: Progress = {
  ...{ named, startedMs: 1500, updatedMs: 62_000, stepsDone: 4, steps: 9 },
  versions: { a: '3.4', b: '3.3', c: '3.4' },
};
const samplesOf = (text: string): string[] => text.split('\n').filter((line) => /^opsctl/.test(line));

describe('the metrics of a run', () => {
  it('metrics are gauges with their help, and the unit if there is one', () => {
    const text = metricsText(progress);
    expect(text.split('\n').slice(0, 9)).toEqual([
      '# TYPE opsctl_kv_run_info gauge',
      naming('HELP', 'opsctl_kv_run_info'),
      'opsctl_kv_run_info{cluster="prod",run="r1",action="upgrade",from="3.3",to="3.4"} 1',
      '# TYPE opsctl_kv_run_steps gauge',
      naming('HELP', 'opsctl_kv_run_steps', 'plan'),
      'opsctl_kv_run_steps{cluster="prod"} 9',
      '# TYPE opsctl_kv_run_steps_done gauge',
      '# HELP opsctl_kv_run_steps_done Finished steps.',
      'opsctl_kv_run_steps_done{cluster="prod"} 4',
    ]);
    expect(text.match(/^# UNIT .*$/gm)).toEqual([
      '# UNIT opsctl_kv_run_start_timestamp_seconds seconds',
      '# UNIT opsctl_kv_run_update_timestamp_seconds seconds',
    ]);
  });
  it('metrics of a run in progress have no outcome and no end', () => {
    const samples = samplesOf(metricsText(progress)).map((line) => line.replace('opsctl_kv_run_', ''));
    expect(samples.slice(3)).toEqual([
      'members{cluster="prod",version="3.3"} 1',
      'members{cluster="prod",version="3.4"} 2',
      'running{cluster="prod"} 1',
      ...['done', 'held', 'stopped', 'rolled-back', 'failed', 'aborted', 'refused'].map(
        (outcome) => `last_outcome{cluster="prod",outcome="${outcome}"} 0`,
      ),
      'start_timestamp_seconds{cluster="prod"} 1.5',
      'update_timestamp_seconds{cluster="prod"} 62',
    ]);
  });
  it('metrics of a finished run have the outcome, and the time', () => {
    const samples = samplesOf(metricsText({ ...progress, outcome: 'held' }));
    expect(samples).toContain('opsctl_kv_run_running{cluster="prod"} 0');
    expect(samples.filter((line) => /last_outcome.* 1$/.test(line))).toEqual([
      'opsctl_kv_run_last_outcome{cluster="prod",outcome="held"} 1',
    ]);
    expect(samples.at(-1)).toBe('opsctl_kv_run_end_timestamp_seconds{cluster="prod"} 62');
  });
  it('metrics quote a name with any content', () => {
    const text = metricsText({ ...progress, named: { ...named, cluster: 'a"b\\c\nd' } });
    expect(text).toContain('opsctl_kv_run_steps{cluster="a\\"b\\\\c\\nd"} 9\n');
  });
});

/** Returns the samples of some metric families after these events, without their prefix. */
const metricsOf = async (events: readonly object[]) => {
  const host = fakeHost();
  const warned: string[] = [];
  const file = metricsFile(host, '/m.prom', named, (text) => warned.push(text));
  for (const event of events) file.take({ at: '', elapsed_ms: 0, ...event } as UpgradeEvent);
  await file.finish();
  const text = host.files.readNow('/m.prom');
  const value = (name: string): string[] =>
    samplesOf(text ?? '').flatMap(
      (line) => new RegExp(`^opsctl_kv_run_${name}\\{(.*)$`).exec(line)?.[1] ?? [],
    );
  return { host, text, value, warned };
};
const plan = planned();
const begun = { event: 'run-started', run: 'r', action: 'upgrade', plan, journal: '/j' };
const gate = (member: string, kind = 'gate') => ({
  ...{ event: 'step-finished', step: { id: `${member}.${kind}`, kind, member } },
});
const up = (member: string) => [
  { event: 'member-up', member, down_ms: 1 },
  { event: 'gate-check', member, check: 'version', ok: true, detail: 'runs 3.4.45' },
];
const ended = (outcome: Outcome, report: object = {}) => ({
  ...{ event: 'run-finished', outcome, message: '', report },
});

describe('the metrics file', () => {
  it('the metrics file is not written before a relevant event', async () => {
    expect((await metricsOf([{ event: 'note', level: 'warn', text: 'x' }])).text).toBeUndefined();
  });
  it('the metrics file has the steps of the plan and the observed versions', async () => {
    const { value, host } = await metricsOf([begun]);
    expect(value('steps')).toEqual([`cluster="prod"} ${plan.steps.length}`]);
    expect(value('steps_done')).toEqual(['cluster="prod"} 0']);
    expect(value('members')).toEqual(['cluster="prod",version="3.3"} 3']);
    expect(host.files.mode('/m.prom')).toBe(0o644);
    const observation = observed([seen('n1', { server_version: '3.4.1' }), seen('n2'), away('n3')]);
    expect((await metricsOf([begun, { event: 'observed', observation }])).value('members')).toEqual([
      'cluster="prod",version="3.3"} 1',
      'cluster="prod",version="3.4"} 1',
      'cluster="prod",version="unknown"} 1',
    ]);
    const silent = { ...plan, observation: observed([seen('n1', { server_version: undefined })]) };
    expect((await metricsOf([{ ...begun, plan: silent }])).value('members')).toEqual([
      'cluster="prod",version="unknown"} 1',
    ]);
  });
  it('counts steps, and follows a member down, up, and back', async () => {
    const down = { event: 'member-down', member: 'n2', was_leader: false };
    expect((await metricsOf([begun, down])).value('members')).toEqual([
      ...['cluster="prod",version="3.3"} 2', 'cluster="prod",version="none"} 1'],
    ]);
    const after = await metricsOf([begun, down, gate('n2', 'stop'), ...up('n2'), gate('n2')]);
    expect(after.value('members')).toEqual([
      ...['cluster="prod",version="3.3"} 2', 'cluster="prod",version="3.4"} 1'],
    ]);
    expect(after.value('steps_done')).toEqual(['cluster="prod"} 2']);
    const reverted = { event: 'reverted', member: 'n2', duration_ms: 1 };
    const back = await metricsOf([
      begun,
      down,
      gate('n2', 'stop'),
      gate('n3', 'stop'),
      ...up('n2'),
      reverted,
    ]);
    expect(back.value('members')).toEqual(['cluster="prod",version="3.3"} 3']);
    expect(back.value('steps_done')).toEqual(['cluster="prod"} 1']);
    const again = { ...gate('n2', 'stop'), was_done_before: true };
    expect((await metricsOf([begun, again, gate('n2', 'stop')])).value('steps_done')).toEqual([
      'cluster="prod"} 1',
    ]);
  });
  it('the metrics file ends with the last observation; an unresponsive member keeps its previous one', async () => {
    const members = [{ name: 'n1', version_after: '3.4.9' }, { name: 'n2' }];
    const { value } = await metricsOf([begun, ended('done', { members })]);
    expect(value('members')).toEqual([
      ...['cluster="prod",version="3.3"} 2', 'cluster="prod",version="3.4"} 1'],
    ]);
    expect(value('running')).toEqual(['cluster="prod"} 0']);
    expect((await metricsOf([begun, ended('failed')])).value('members')).toHaveLength(1);
  });
  it('the metrics file is written once at a time, and again for later events', async () => {
    const host = fakeHost();
    const { replace } = host.files;
    let [writes, most, now] = [0, 0, 0];
    host.files.replace = async (...given) => {
      [writes, now] = [writes + 1, now + 1];
      most = Math.max(most, now);
      await host.turn();
      await replace(...given);
      now -= 1;
    };
    const file = metricsFile(host, '/m.prom', named, () => {});
    const take = (event: object) => file.take({ at: '', elapsed_ms: 0, ...event } as UpgradeEvent);
    for (const event of [begun, gate('n2'), gate('n3'), gate('n1')]) take(event);
    await file.finish();
    expect([writes, most]).toEqual([2, 1]);
    expect(host.files.readNow('/m.prom')).toContain('steps_done{cluster="prod"} 3');
    host.advance(5000);
    take(ended('done'));
    await file.finish();
    expect(writes).toBe(3);
    expect(host.files.readNow('/m.prom')).toContain('update_timestamp_seconds{cluster="prod"} 1767323050');
    expect(host.files.readNow('/m.prom')).toContain('start_timestamp_seconds{cluster="prod"} 1767323045');
  });
  it('an unwritable metrics file is one warning', async () => {
    const host = fakeHost();
    host.files.replace = () => Promise.reject(Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }));
    const warned: string[] = [];
    const file = metricsFile(host, '/m.prom', named, (text) => warned.push(text));
    for (const event of [begun, gate('n2')]) {
      file.take({ at: '', elapsed_ms: 0, ...event } as UpgradeEvent);
      await file.finish();
    }
    expect(warned).toEqual([naming('--metrics-file', '/m.prom', 'disk', 'full', 'continues')]);
  });
});
