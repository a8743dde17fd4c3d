import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { wrap } from '../../../core/wrap.ts';
import { alarmMessages } from '../guards/no-alarms.ts';
import type { Observation } from '../../engine/types.ts';
import type { RunLine } from './status.ts';

type Known = {
  readonly observation: Observation;
  readonly run: RunLine | undefined;
  readonly restored: { readonly text: string } | undefined;
  readonly operation: { readonly text: string } | undefined;
};

const runText = ({ observation, run, restored }: Known): string[] => {
  if (run === undefined) return [];
  const isBack =
    run.outcome === 'done' && run.from !== undefined && minorOf(observation.cluster_version) === run.from;
  return [isBack && restored === undefined ? `${run.text}; it was rebuilt on ${run.from} since` : run.text];
};

/** After an empty line; what is indented is to be copied and stays as it is. */
const wrapped = (said: readonly string[], columns: number): string[] =>
  said.length === 0
    ? []
    : ['', ...said.join('\n').split('\n')].map((line) =>
        line.startsWith(' ') ? line : wrap(line, columns, '  '),
      );

/** What kv status says below the members: alarms, the last run, the last restore and an operation that is not finished. */
export const statusLines = (known: Known, columns: number): string[] => {
  const { observation, restored, operation } = known;
  const alarms = alarmMessages(observation).map(({ message, hint }) => `${message}\n  next: ${hint}`);
  const others = [restored, operation].flatMap((line) => line?.text ?? []);
  return wrapped([...alarms, ...runText(known), ...others], columns);
};
