import { parseUrl } from '../../core/external-url.ts';
import { decimal, hexFrom, memberId } from '../disk/db-file.ts';
import { minorOf } from '../forms.ts';
import {
  type Failure,
  type MemberRecord,
  type MembershipChange,
  membershipFailures,
} from '../state/command.ts';
import { proposeCommand, checkLooking, checkToken, header, awaitLinearizable } from './kv.ts';
import {
  type Api,
  type Body,
  booleanField,
  type Call,
  enumField,
  field,
  omitZeros,
  passwordHash,
  RpcError,
  textField,
  unsignedField,
} from './rpc.ts';

export type MemberListEntry = {
  readonly id: string;
  readonly name: string;
  readonly peerURLs: readonly string[];
  readonly clientURLs: readonly string[];
  readonly isLearner: boolean;
};
/** A member without a name has not started yet. */
export const listedMembers = ({ node: { machine } }: Pick<Api, 'node'>): MemberListEntry[] =>
  machine.membership.all.map(({ id, peerUrls, isLearner }) => {
    const published = machine.published.get(id);
    const [name, clientURLs] = [published?.name ?? '', published?.clientUrls ?? []];
    return { id, name, peerURLs: peerUrls, clientURLs, isLearner };
  });
const memberBody = ({ id, ...rest }: MemberListEntry): Body => omitZeros({ ID: decimal(id), ...rest });
/** The response to every membership call: all members, and a header without a revision. */
const membersBody = (api: Api): Body => ({
  header: header(api, 0),
  members: listedMembers(api).map(memberBody),
});
export const memberList = async (api: Api, call: Call): Promise<Body> => {
  checkLooking(api, call);
  return membersBody(api);
};
export const authenticate = async (api: Api, call: Call): Promise<Body> => {
  const { machine } = api.node;
  if (!machine.isAuthOn) throw new RpcError(9, 'etcdserver: authentication is not enabled');
  const user = machine.users.get(textField(call.body, 'name'));
  if (user === undefined || passwordHash(textField(call.body, 'password'), user.salt) !== user.hash) {
    throw new RpcError(3, 'etcdserver: authentication failed, invalid user ID or password');
  }
  return { header: header(api), token: api.tokens.give(user.name) };
};
export const userAdd = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  const name = textField(call.body, 'name');
  if (name === '') throw new RpcError(3, 'etcdserver: user name is empty');
  if (api.node.machine.users.has(name)) throw new RpcError(9, 'etcdserver: user name already exists');
  const salt = Buffer.from(api.host.random(12)).toString('base64');
  await proposeCommand(api, {
    op: 'user',
    name,
    salt,
    hash: passwordHash(textField(call.body, 'password'), salt),
  });
  return { header: header(api) };
};
export const authEnable = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  if (!api.node.machine.users.has('root')) throw new RpcError(9, 'etcdserver: root user does not exist');
  await proposeCommand(api, { op: 'auth', on: true });
  return { header: header(api) };
};
export const authDisable = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  await proposeCommand(api, { op: 'auth', on: false });
  return { header: header(api) };
};
export const authStatus = async (api: Api): Promise<Body> =>
  omitZeros({ header: header(api), enabled: api.node.machine.isAuthOn });

/**
 * The checks of a member before it accepts a membership change (`--strict-reconfig-check`, on by default).
 * The rules were determined by running the real servers (spec/store#measured-answers).
 */
const CONNECTED_MS = 5_000;
const majorityOf = (size: number): number => Math.floor(size / 2) + 1;
const hasStarted = ({ node }: Api, { id }: MemberRecord): boolean => node.machine.published.has(id);
const isConnected = ({ node, host }: Api, { id }: MemberRecord): boolean => {
  if (id === node.id) return true;
  const since = node.links.get(id)?.activeSince;
  return since !== undefined && host.elapsed() - since >= CONNECTED_MS;
};
/**
 * The started members would still be a majority after adding this number of members that have not started.
 */
const startedAreMajority = (api: Api, voters: readonly MemberRecord[], more: number): boolean => {
  const started = voters.filter((voter) => hasStarted(api, voter)).length;
  return started >= majorityOf(voters.length + more);
};
/**
 * spec/store#measured-answers: adding a voter needs a majority of started members, and every voter must have
 * been connected for five seconds.
 */
const addIsSafe = (api: Api, isLearner: boolean): Failure | undefined => {
  if (!api.settings.isStrict) return undefined;
  const { voters } = api.node.machine.membership;
  // The second member of a cluster of one: there is no other member to check.
  const isSecond = voters.length === 1;
  if (!isLearner && !isSecond && !startedAreMajority(api, voters, 1))
    return membershipFailures.notEnoughStarted;
  return voters.every((voter) => isConnected(api, voter)) ? undefined : membershipFailures.unhealthy;
};
/**
 * spec/store#measured-answers: the leader makes this check. For a member that is not a learner, every member
 * rejects the change when it applies it.
 */
const promotionIsSafe = (api: Api, id: string): Failure | undefined => {
  const { raft, machine } = api.node;
  if (!machine.membership.isLearner(id)) return undefined;
  if (raft.isInSync(id) !== true) return membershipFailures.notInSync;
  const { voters } = machine.membership;
  const started = voters.filter((voter) => hasStarted(api, voter)).length + 1;
  const isSafe = !api.settings.isStrict || started >= majorityOf(voters.length + 1);
  return isSafe ? undefined : membershipFailures.notEnoughStarted;
};
/**
 * spec/store#measured-answers: the remaining started members must be a majority. A member that is down, or is
 * a learner, may be removed.
 */
const removalIsSafe = (api: Api, id: string): Failure | undefined => {
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

const refuse = (failure: Failure | undefined): void => {
  if (failure !== undefined) throw new RpcError(failure.code, failure.message);
};
/** Only scheme, host and port. */
const isPeerUrl = (text: string): boolean =>
  /^(https?|unixs?):\/\/[^/?#]+:\d+$/.test(text) && parseUrl(text) !== undefined;
const urlsOf = (body: Body): string[] => {
  const value = field(body, 'peerURLs') ?? [];
  if (!Array.isArray(value) || value.some((one) => typeof one !== 'string'))
    throw new RpcError(3, 'json: cannot unmarshal into Go value of type []string');
  return value as string[];
};
const idOf = (call: Call): string => hexFrom(unsignedField(call.body, 'ID'));
const changeMembership = async (api: Api, change: MembershipChange): Promise<void> =>
  void (await proposeCommand(api, change));
export const memberAdd = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  const peerUrls = urlsOf(call.body);
  if (peerUrls.length === 0 || !peerUrls.every(isPeerUrl)) refuse(membershipFailures.badUrls);
  const isLearner = api.form.has.learners && booleanField(call.body, 'isLearner');
  refuse(addIsSafe(api, isLearner));
  // Added again with the same URLs it is another member: the second of its addition is a part of its id.
  const member = memberId(peerUrls, String(Math.floor(api.host.now() / 1000)));
  await changeMembership(api, { op: 'member-add', member, peerUrls, isLearner });
  const added = listedMembers(api).find(({ id }) => id === member);
  return { ...membersBody(api), member: added === undefined ? { ID: decimal(member) } : memberBody(added) };
};
/** Only the leader knows how far a learner is. */
export const promoteHere = async (api: Api, member: string): Promise<Failure | undefined> => {
  const unsafe = promotionIsSafe(api, member);
  if (unsafe !== undefined) return unsafe;
  const result = await api.node.propose({ op: 'member-promote', member });
  return result.ok ? undefined : result.failure;
};
export const memberPromote = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  const { raft, links } = api.node;
  const member = idOf(call);
  if (raft.isLeading) refuse(await promoteHere(api, member));
  else {
    const link = raft.leader === undefined ? undefined : links.get(raft.leader);
    const answer = await link?.ask<{ failure?: Failure }>('/raft/promote', { member });
    if (answer === undefined) throw new RpcError(14, 'etcdserver: no leader');
    refuse(answer.failure);
    await awaitLinearizable(api);
  }
  return membersBody(api);
};
export const memberUpdate = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  await changeMembership(api, { op: 'member-update', member: idOf(call), peerUrls: urlsOf(call.body) });
  return membersBody(api);
};
export const memberRemove = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  const member = idOf(call);
  refuse(removalIsSafe(api, member));
  await changeMembership(api, { op: 'member-remove', member });
  return membersBody(api);
};
/** Calls that a learner also supports. */
export const refuseForLearner = (api: Api, path: string, body: Body): void => {
  const { machine, id } = api.node;
  if (!machine.membership.isLearner(id) || path === '/maintenance/status' || path === '/maintenance/snapshot')
    return;
  if (path === '/kv/range' && booleanField(body, 'serializable')) return;
  throw new RpcError(api.form.isGateway2 ? 9 : 14, 'etcdserver: rpc not supported for learner');
};

const before = (version: string): string => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return `${major}.${minor - 1}`;
};
/** Exactly one minor below the version of the cluster. */
const targetOf = (api: Api, call: Call): string => {
  const asked = textField(call.body, 'version');
  if (!/^\d+\.\d+(\.\d+)?$/.test(asked))
    throw new RpcError(3, 'etcdserver: wrong downgrade target version format');
  const cluster = api.node.machine.clusterVersion;
  if (cluster === undefined || before(cluster) !== minorOf(asked))
    throw new RpcError(3, 'etcdserver: invalid downgrade target version');
  return `${minorOf(asked)}.0`;
};
/** A real 3.5 returns an error for ENABLE and CANCEL after its deadline. */
const refuseBefore36 = (api: Api): void => {
  if (!api.form.has.downgrade) throw new RpcError(14, 'etcdserver: request timed out');
};
export const downgrade = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  const actions = ['VALIDATE', 'ENABLE', 'CANCEL'] as const;
  const action = enumField(call.body, 'action', actions, 'DowngradeRequest_DowngradeAction');
  const answer = (): Body => ({
    header: header(api),
    version: minorOf(api.node.machine.clusterVersion ?? ''),
  });
  if (action === 'CANCEL') {
    refuseBefore36(api);
    // Even if no downgrade is enabled, because the response is empty.
    await proposeCommand(api, { op: 'downgrade' });
    return answer();
  }
  await awaitLinearizable(api);
  const target = targetOf(api, call);
  if (action === 'ENABLE') {
    refuseBefore36(api);
    await proposeCommand(api, { op: 'downgrade', target });
  }
  return answer();
};
