import type { Failure } from '../state/command.ts';
import { type MemberRecord, membershipFailures } from '../state/membership.ts';
import type { Api } from './rpc.ts';

/**
 * What a member asks before it takes a change of the members (`--strict-reconfig-check`, on by default). The rules are those of the
 * real servers, told apart by running both (spec/store#measured-answers).
 */
const CONNECTED_MS = 5_000;
const majorityOf = (size: number): number => Math.floor(size / 2) + 1;

const hasStarted = ({ node }: Api, { id }: MemberRecord): boolean => node.machine.published.has(id);
const isConnected = ({ node, host }: Api, { id }: MemberRecord): boolean => {
  if (id === node.id) return true;
  const since = node.links.get(id)?.activeSince;
  return since !== undefined && host.elapsed() - since >= CONNECTED_MS;
};

/** Those who have started would still be a majority, with so many more who have not. */
const startedAreMajority = (api: Api, voters: readonly MemberRecord[], more: number): boolean => {
  const started = voters.filter((voter) => hasStarted(api, voter)).length;
  return started >= majorityOf(voters.length + more);
};

/** spec/store#measured-answers: a voter needs a majority of started members; whoever is added needs that every voter has been there for five seconds. */
export const addIsSafe = (api: Api, isLearner: boolean): Failure | undefined => {
  if (!api.settings.isStrict) return undefined;
  const { voters } = api.node.machine.membership;
  // The second member of a cluster of one: nobody else could be asked.
  const isSecond = voters.length === 1;
  if (!isLearner && !isSecond && !startedAreMajority(api, voters, 1))
    return membershipFailures.notEnoughStarted;
  return voters.every((voter) => isConnected(api, voter)) ? undefined : membershipFailures.unhealthy;
};

/** spec/store#measured-answers: asked of the leader. Who is no learner is refused by all alike when the change is applied. */
export const promotionIsSafe = (api: Api, id: string): Failure | undefined => {
  const { raft, machine } = api.node;
  if (!machine.membership.isLearner(id)) return undefined;
  if (raft.isInSync(id) !== true) return membershipFailures.notInSync;
  const { voters } = machine.membership;
  const started = voters.filter((voter) => hasStarted(api, voter)).length + 1;
  const isSafe = !api.settings.isStrict || started >= majorityOf(voters.length + 1);
  return isSafe ? undefined : membershipFailures.notEnoughStarted;
};

/** spec/store#measured-answers: who stays is a majority of those who stay. A member that is down, or only learns, may go. */
export const removalIsSafe = (api: Api, id: string): Failure | undefined => {
  const { machine, links, id: own } = api.node;
  if (!api.settings.isStrict || machine.membership.isLearner(id)) return undefined;
  const { voters } = machine.membership;
  const staying = voters.filter((voter) => voter.id !== id);
  if (!startedAreMajority(api, staying, 0)) return membershipFailures.notEnoughStarted;
  if (id !== own && links.get(id)?.activeSince === undefined) return undefined;
  const connected = voters.filter((voter) => isConnected(api, voter)).length;
  const needed = 1 + Math.floor((voters.length - 1) / 2);
  return connected - 1 < needed ? membershipFailures.unhealthy : undefined;
};
