import { guard } from './guard.ts';
import type { Finding, MemberSeen, Observation } from '../../engine/types.ts';

export const quorumOf = (size: number): number => Math.floor(size / 2) + 1;
type Cluster = Pick<Observation, 'members' | 'listed'>;
/** Members that count towards a majority now. */
export const isGood = (member: MemberSeen): boolean =>
  member.is_reachable && member.is_healthy && !member.is_learner;

/**
 * Whether this member may be stopped now: without it a majority of all members must still be good.
 * A cluster of one or two has no majority to spare; there `accepted` (the operator said so) is needed for two, and one is what it is.
 */
export const stopProblem = (
  { members, listed }: Cluster,
  name: string,
  accepted: boolean,
): string | undefined => {
  // Somebody may have added a member since the plan: it counts towards the majority, and nothing is known of it.
  const strangers = Math.max(0, listed.filter(({ is_learner }) => !is_learner).length - members.length);
  const [size, left] = [
    members.length + strangers,
    members.filter((member) => member.name !== name && isGood(member)).length,
  ];
  const needed = quorumOf(size);
  if (size === 1 || left >= needed) return undefined;
  if (size === 2 && accepted) return undefined;
  const bad = members
    .filter((member) => member.name !== name && !isGood(member))
    .map((member) => member.name);
  const others =
    strangers > 0
      ? ` (${strangers} of the cluster ${strangers === 1 ? 'is' : 'are'} not in the cluster file)`
      : '';
  return `without ${name} only ${left} of ${size} members would be good, ${needed} are needed${bad.length > 0 ? ` (${bad.join(', ')} ${bad.length === 1 ? 'is' : 'are'} not)` : ''}${others}`;
};

/** spec/store: without downtime. Every single stop must leave a majority. */
export const quorumSurvives = guard(
  'quorum-survives',
  'any one member can be stopped and a majority stays',
  ({ observation, options }, log) => {
    const { members } = observation;
    if (members.length === 1)
      return log.warn({
        message: 'one member: the store is away while it is replaced',
        hint: 'add members for an upgrade without downtime',
      });
    if (members.length === 2 && members.every(isGood)) {
      const said = {
        message: 'two members: no write is possible while one of them is replaced',
        hint: 'add a member, or take the downtime with --accept quorum-survives',
      };
      return options.accept.includes('quorum-survives') ? log.warn(said) : log.fail(said);
    }
    const found = members
      .filter(isGood)
      .map((member) => ({ member: member.name, problem: stopProblem(observation, member.name, false) }));
    const first = found.find(({ problem }) => problem !== undefined);
    if (first !== undefined)
      log.fail({
        member: first.member,
        message: first.problem as string,
        hint: 'bring the other members back first',
      });
  },
);

export const stopFinding = (
  cluster: Cluster,
  name: string,
  accept: readonly string[],
): Finding | undefined => {
  const message = stopProblem(cluster, name, accept.includes('quorum-survives'));
  return message === undefined
    ? undefined
    : {
        guard: 'quorum-survives',
        level: 'fail',
        member: name,
        message,
        hint: 'bring the other members back, then opsctl kv resume',
      };
};
