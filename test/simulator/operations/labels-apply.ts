/** Applies label definitions with a lock file, is interrupted, and applies them again. */
import { type Operation, breakDisk, breakNetwork } from '../history.ts';
import {
  aFailureIsExplained,
  afterACrashTheNextCommandSucceeds,
  nothingIsThereTwice,
  theEndIsWhatWasAskedFor,
} from '../invariants.ts';
import { HOME } from '../kernel/machine.ts';
import { command, putFiles, startService } from './service.ts';

const definition = (n: number, text: string, choices: string): string =>
  `title: Label ${n}\ndescription: ${text}\nstate: published\nfields:\n  - {name: Status, type: selection, choices: [${choices}]}\n`;
const path = (n: number): string => `${HOME}/labels/${n}.yaml`;
const apply = ['labels', 'apply', '-f', `${HOME}/labels`, '--deployment', 'here', '--publish', '--yes'];
const diff = ['labels', 'diff', '-f', `${HOME}/labels`, '--deployment', 'here'];

type Kept = {
  readonly counter: number;
  readonly drafts: readonly string[];
  readonly published?: string;
  readonly id: string;
};

export const labelsApply: Operation = {
  name: 'labels apply',
  run: async (history) => {
    const { kernel, calm } = history;
    const service = await startService(history);
    const safely = { isSafe: true };
    await putFiles(history, { [path(1)]: definition(1, 'Before', 'Open, Done') });
    for (const argv of [
      ['labels', 'apply', '-f', `${HOME}/labels`, '--publish', '--yes'],
      ['labels', 'adopt', '-f', `${HOME}/labels`, '--deployment', 'here', '--yes'],
    ]) {
      const ended = await kernel.until(command(history, 'setup', argv, service.env, safely));
      if (ended.kind !== 'done' || ended.value.code !== 0) return [`setup: ${JSON.stringify(ended)}`];
    }
    await putFiles(history, {
      [path(1)]: definition(1, 'After', 'Done, New'),
      [path(2)]: definition(2, 'After', 'Open'),
    });
    const broken: string[] = [];
    breakNetwork(history);
    for (let round = 0; round < 2; round += 1) {
      if (round === 1) breakDisk(history);
      const ended = await kernel.until(command(history, `apply ${round}`, apply, service.env));
      if (ended.kind === 'done' && ended.value.code !== 0)
        broken.push(...aFailureIsExplained('labels apply', ended.value.code, ended.value.err));
    }
    calm();
    const last = await kernel.until(command(history, 'last', apply, service.env));
    const difference = await kernel.until(command(history, 'diff', diff, service.env));
    const labels = [...service.store.collection<Kept>('labels.labels').values()];
    const titles = labels.map(({ id, drafts, published }) => {
      const revision = service.store.collection<{ title: string }>('labels.revisions');
      return revision.get(`${id}@${drafts.at(-1) ?? published}`)?.title ?? '';
    });
    return [
      ...broken,
      ...afterACrashTheNextCommandSucceeds('labels apply', last),
      ...afterACrashTheNextCommandSucceeds('labels diff', difference),
      ...nothingIsThereTwice('label', titles),
      ...theEndIsWhatWasAskedFor('number of labels', labels.length, 2),
    ];
  },
};
