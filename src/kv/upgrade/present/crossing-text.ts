import { wrap } from '../../../core/wrap.ts';
import type { Observation, Plan } from '../../engine/types.ts';
import { durationText } from './labels.ts';

/** Shown with the question before the last member of the old version. */
export type Crossing = {
  readonly member: string;
  readonly upgraded: readonly string[];
  /** How long all of them have been good together. */
  readonly goodForMs: number;
  readonly observation: Observation;
};

const memberText = ({
  name,
  is_reachable,
  is_healthy,
  server_version,
  is_leader,
}: Crossing['observation']['members'][number]): string =>
  `${name} ${server_version ?? 'no answer'}${is_leader ? ', leader' : ''}${is_reachable && is_healthy ? '' : is_reachable ? ', unhealthy' : ', down'}`;

/** What the operator decides on: how the members are now, what yes does, and what no means. Pure. */
export const crossingText = (
  { from, to, cluster }: Pick<Plan, 'from' | 'to' | 'cluster'>,
  { member, upgraded, goodForMs, observation }: Crossing,
  columns: number,
): string => {
  const good =
    upgraded.length === 0
      ? `${member} is the only member of ${cluster}`
      : `${upgraded.join(', ')} on ${to}, good together for ${durationText(goodForMs)}`;
  const line = (text: string): string => `  ${wrap(text, columns - 2, '  ')}`;
  return [
    `Point of no return: ${member} is the last member on ${from}.`,
    line(`Now:  ${observation.members.map(memberText).join(' · ')}; ${good}.`),
    line(
      `Yes:  ${member} is replaced and the cluster becomes ${to}; then only kv restore goes back to ${from}.`,
    ),
    line(
      'No:   the run holds here and nothing is lost: opsctl kv resume goes on, opsctl kv rollback goes back.',
    ),
  ].join('\n');
};
