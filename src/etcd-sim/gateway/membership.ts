import { decimal, hexFrom, memberId } from '../disk/identity.ts';
import type { Failure, MembershipChange } from '../state/command.ts';
import { membershipFailures } from '../state/membership.ts';
import { listedMembers, memberBody, membersBody } from './cluster.ts';
import { booleanField, field, unsignedField } from './fields.ts';
import { agreed, checkToken, linearized } from './kv.ts';
import { addIsSafe, promotionIsSafe, removalIsSafe } from './membership-rules.ts';
import { type Api, type Body, type Call, RpcError } from './rpc.ts';

const refuse = (failure: Failure | undefined): void => {
  if (failure !== undefined) throw new RpcError(failure.code, failure.message);
};

/** Scheme, host and port, and nothing else. */
const isPeerUrl = (text: string): boolean =>
  /^(https?|unixs?):\/\/[^/?#]+:\d+$/.test(text) && URL.canParse(text);
const urlsOf = (body: Body): string[] => {
  const value = field(body, 'peerURLs') ?? [];
  if (!Array.isArray(value) || value.some((one) => typeof one !== 'string'))
    throw new RpcError(3, 'json: cannot unmarshal into Go value of type []string');
  return value as string[];
};
const idOf = (call: Call): string => hexFrom(unsignedField(call.body, 'ID'));

const changed = async (api: Api, change: MembershipChange): Promise<void> => void (await agreed(api, change));

export const memberAdd = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  const peerUrls = urlsOf(call.body);
  if (peerUrls.length === 0 || !peerUrls.every(isPeerUrl)) refuse(membershipFailures.badUrls);
  const isLearner = api.form.has.learners && booleanField(call.body, 'isLearner');
  refuse(addIsSafe(api, isLearner));
  // Added again with the same URLs it is another member: the second of its addition is a part of its id.
  const member = memberId(peerUrls, String(Math.floor(api.host.now() / 1000)));
  await changed(api, { op: 'member-add', member, peerUrls, isLearner });
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
    await linearized(api);
  }
  return membersBody(api);
};

export const memberUpdate = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  await changed(api, { op: 'member-update', member: idOf(call), peerUrls: urlsOf(call.body) });
  return membersBody(api);
};

export const memberRemove = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  const member = idOf(call);
  refuse(removalIsSafe(api, member));
  await changed(api, { op: 'member-remove', member });
  return membersBody(api);
};

/** Calls that a member answers before it votes. */
export const refuseForLearner = (api: Api, path: string, body: Body): void => {
  const { machine, id } = api.node;
  if (!machine.membership.isLearner(id) || path === '/maintenance/status' || path === '/maintenance/snapshot')
    return;
  if (path === '/kv/range' && booleanField(body, 'serializable')) return;
  throw new RpcError(api.form.isGateway2 ? 9 : 14, 'etcdserver: rpc not supported for learner');
};
