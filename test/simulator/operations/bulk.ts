/** Runs many rows with a journal. The run is killed and resumed until it completes. */
import { type Operation, breakDisk, breakNetwork } from '../history.ts';
import {
  aFailureIsExplained,
  eachRowIsCarriedOutOnce,
  afterACrashTheNextCommandSucceeds,
} from '../invariants.ts';
import { HOME } from '../kernel/machine.ts';
import { command, putFiles, startService } from './service.ts';

const rowsOf = (count: number): string[] => Array.from({ length: count }, (_, i) => `row-${i + 1}`);
const argv = (resume: boolean): string[] => [
  ...[
    'tracker',
    'bulk',
    '-f',
    `${HOME}/rows.ndjson`,
    '--journal',
    `${HOME}/run.journal`,
    '--concurrency',
    '2',
    '-o',
    'ndjson',
  ],
  ...(resume ? ['--resume'] : []),
];

export const bulk: Operation = {
  name: 'bulk',
  run: async (history) => {
    const { kernel, calm } = history;
    const service = await startService(history);
    const rows = rowsOf(history.plan.isRough ? 2 + kernel.random.below(5) : 4);
    const text = rows.map((name) => JSON.stringify({ resource: 'labels', op: 'create', name })).join('\n');
    await putFiles(history, { [`${HOME}/rows.ndjson`]: `${text}\n` });
    const broken: string[] = [];
    breakNetwork(history);
    for (let round = 0; round < 3; round += 1) {
      if (round === 1) breakDisk(history);
      const power = kernel.faults['power loss'] ?? 0;
      const ended = await kernel.until(command(history, `bulk ${round}`, argv(round > 0), service.env));
      // The journal survives a kill. After a power loss, opsctl does not guarantee any result.
      if ((kernel.faults['power loss'] ?? 0) > power) return broken;
      if (ended.kind === 'done' && ended.value.code !== 0)
        broken.push(...aFailureIsExplained('bulk', ended.value.code, ended.value.err));
    }
    calm();
    const last = await kernel.until(command(history, 'last', argv(true), service.env));
    const made = [...service.store.collection<{ name: string }>('tracker.labels').values()].map(
      ({ name }) => name,
    );
    return [
      ...broken,
      ...afterACrashTheNextCommandSucceeds('bulk --resume', last),
      ...eachRowIsCarriedOutOnce(rows, made),
    ];
  },
};
