import { minorOf } from '../../services/kv/versions.ts';
import { recordResult } from '../../kernel/result.ts';
import type { Outcome } from '../../upgrade/types.ts';
import type { FoundRun } from '../../upgrade/journal.ts';
import type { Command, Context } from '../command.ts';
import { endpointFlags, openCluster } from './cluster.ts';

const goesOn: ReadonlySet<Outcome> = new Set(['held', 'stopped', 'failed']);
const runLine = ({ run, entries }: FoundRun): { readonly run: string; readonly outcome: string; readonly text: string; readonly from?: string } => {
  const last = entries.at(-1);
  const open = entries.findLast((entry) => entry.kind === 'begin');
  if (last?.kind === 'closed') {
    const text = `last run ${run}: ${last.message.startsWith(last.outcome) ? '' : `${last.outcome}: `}${last.message}`;
    const isSaid = !goesOn.has(last.outcome) || text.includes('opsctl kv resume');
    const from = entries[0]?.kind === 'opened' ? { from: entries[0].plan.from } : {};
    return { run, outcome: last.outcome, text: isSaid ? text : `${text}\n  go on: opsctl kv resume`, ...from };
  }
  const where = open?.kind === 'begin' ? ` at ${open.step}` : '';
  return { run, outcome: 'interrupted', text: `run ${run} was interrupted${where} or is at work: opsctl kv resume` };
};

const lastRun = async (context: Context, cluster: string) => {
  const { findRuns } = await import('../../upgrade/journal.ts');
  const [newest] = await findRuns(context.host, context.settings.folders.clusters, cluster).catch(() => []);
  return newest === undefined ? undefined : runLine(newest);
};

export const status: Command = {
  path: ['kv', 'status'],
  summary: 'Show members, versions, leader and the last upgrade run',
  flags: endpointFlags,
  examples: [
    { line: 'opsctl kv status --cluster cluster.yaml', says: 'every member at a glance' },
    { line: 'opsctl kv status --endpoints 10.0.0.1:2379,10.0.0.2:2379', says: 'without a cluster file' },
  ],
  run: async (context, values) => {
    const { cluster, access, file } = await openCluster(context, values);
    const [{ observe }, { observationText }] = await Promise.all([import('../../upgrade/observe.ts'), import('../../upgrade/texts.ts')]);
    const observation = await observe({ host: context.host, cluster, access });
    const run = file === undefined ? undefined : await lastRun(context, cluster.name);
    const simulated = cluster.simulated === true ? { simulated: true } : {};
    const isBack = run?.outcome === 'done' && run.from !== undefined && minorOf(observation.cluster_version) === run.from;
    const lines = run === undefined ? [] : ['', isBack ? `${run.text}; it was rebuilt on ${run.from} since` : run.text];
    const data = { ...observation, ...simulated, ...(run === undefined ? {} : { last_run: { run: run.run, outcome: run.outcome } }) };
    const text = [observationText(observation), ...lines].join('\n');
    return recordResult(data, { text }, observation.members.every(({ is_healthy }) => is_healthy) ? undefined : 'no');
  },
};
