import { minorOf, rowOf, type Minor } from '../../../api-specs/etcd/versions.ts';
import type { Finding, MemberSeen } from '../../engine/types.ts';
import type { GuardInput } from './guard.ts';

type Problem = Omit<Finding, 'guard' | 'level'>;

const mixed = ({ name, server_version }: MemberSeen): Problem => ({
  member: name,
  message: `${name} runs ${server_version}: the store refuses a downgrade of a mixed cluster`,
  hint: 'opsctl kv rollback while an upgrade is under way, opsctl kv resume for a downgrade',
});
const silent = ({ name }: MemberSeen, from: Minor): Problem => ({
  member: name,
  message: `${name} does not answer: the cluster stays ${from} until every member does`,
  hint: 'bring it up first',
});
const elsewhere = ({ name, downgrade_to }: MemberSeen): Problem => ({
  member: name,
  message: `a downgrade to ${downgrade_to} is on already`,
  hint: 'opsctl kv downgrade --cancel takes it back',
});

/** spec/store#measured-later-8, spec/store#measured-later-11: one minor, by the store's own interface, with every member there. */
export const downgradeProblems = (
  { observation: { members }, to, isUnderWay = false }: GuardInput,
  from: Minor,
): Problem[] => {
  if (to === undefined || rowOf(from)?.can.downgrade !== true)
    return [
      {
        message: `a cluster of ${from} cannot be downgraded: the store supports downgrades from 3.6 on`,
        hint: 'while a member still runs the old version: opsctl kv rollback; after that: opsctl kv restore',
      },
    ];
  const isOther = ({ server_version }: MemberSeen): boolean =>
    server_version !== undefined && minorOf(server_version) !== from;
  return [
    ...(isUnderWay ? [] : members.filter(isOther).map(mixed)),
    ...members
      .filter(({ downgrade_to }) => downgrade_to !== undefined && minorOf(downgrade_to) !== to)
      .map(elsewhere),
    ...(isUnderWay ? [] : members.filter(({ is_reachable }) => !is_reachable)).map((member) =>
      silent(member, from),
    ),
  ];
};
