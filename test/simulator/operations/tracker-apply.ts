/** Applies a workspace file, is interrupted, and applies it again. */
import { type Operation, breakDisk, breakNetwork } from '../history.ts';
import {
  aFailureIsExplained,
  afterACrashTheNextCommandSucceeds,
  nothingIsThereTwice,
} from '../invariants.ts';
import { HOME } from '../kernel/machine.ts';
import { command, putFiles, startService } from './service.ts';

const file = `${HOME}/workspace.yaml`;
const workspace = `version: 1
labels:
  - {name: bug, color: "#aa0000"}
  - {name: chore}
categories:
  - {name: platform}
objectives:
  - {name: Faster, categories: [platform]}
epics:
  - {name: Cache, objectives: [Faster], labels: [chore]}
`;
const names = ['tracker.labels', 'tracker.categories', 'tracker.objectives', 'tracker.epics'];

export const trackerApply: Operation = {
  name: 'tracker apply',
  run: async (history) => {
    const { kernel, calm } = history;
    const service = await startService(history);
    await putFiles(history, { [file]: workspace });
    const apply = ['tracker', 'apply', '-f', file, '--yes'];
    const broken: string[] = [];
    breakNetwork(history);
    for (let round = 0; round < 2; round += 1) {
      if (round === 1) breakDisk(history);
      const ended = await kernel.until(command(history, `apply ${round}`, apply, service.env));
      if (ended.kind === 'done' && ended.value.code !== 0)
        broken.push(...aFailureIsExplained('tracker apply', ended.value.code, ended.value.err));
    }
    calm();
    const last = await kernel.until(command(history, 'last', apply, service.env));
    const difference = await kernel.until(
      command(history, 'diff', ['tracker', 'diff', '-f', file], service.env),
    );
    return [
      ...broken,
      ...afterACrashTheNextCommandSucceeds('tracker apply', last),
      ...afterACrashTheNextCommandSucceeds('tracker diff', difference),
      ...names.flatMap((name) =>
        nothingIsThereTwice(
          name,
          [...service.store.collection<{ name: string }>(name).values()].map((one) => one.name),
        ),
      ),
    ];
  },
};
