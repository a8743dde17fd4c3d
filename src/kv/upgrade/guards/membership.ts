import { hexId } from '../../client/hex-id.ts';
import { argvOf } from '../cluster/command-line.ts';
import { flagsOf } from '../configuration/configuration.ts';
import type { ClusterFile, Observation } from '../../engine/types.ts';
import { guard, type Log } from './guard.ts';

/** Names are the operator's own, but not crosswise: then one member would be stopped and another one looked at. */
const crossed = ({ members, listed }: Observation, { members: specs }: ClusterFile, log: Log): void => {
  const nameIn = (id: string | undefined): string | undefined => listed.find((row) => row.id === id)?.name;
  for (const { name, member_id, client_url } of members) {
    const called = nameIn(member_id);
    if (called !== name && specs.some((spec) => spec.name === called))
      log.fail({
        member: name,
        message: `client_url ${client_url} of ${name} is the one of member ${called}`,
        hint: 'opsctl kv member list shows names and URLs',
      });
    const spec = specs.find((one) => one.name === name);
    for (const which of ['new', 'old'] as const) {
      const started = flagsOf(argvOf(spec?.[`${which}_command`], spec?.[`${which}_binary`]) ?? []).get(
        'name',
      );
      if (called === name && started !== called && listed.some((row) => row.name === started))
        log.fail({
          member: name,
          message: `${which}_command of ${name} starts member ${started}, its client_url is the one of ${called}`,
          hint: 'check the commands in the cluster file',
        });
    }
  }
};

const checkClusterIds = ({ members }: Observation, log: Log): void => {
  const clusters = new Set(members.flatMap(({ cluster_id }) => cluster_id ?? []));
  if (clusters.size > 1)
    log.fail({
      message: `the members belong to ${clusters.size} clusters: ${members.map((m) => `${m.name} ${m.cluster_id === undefined ? '?' : hexId(m.cluster_id)}`).join(', ')}`,
      hint: 'one of the URLs or data directories is wrong',
    });
};

const checkMemberLists = ({ members }: Observation, log: Log): void => {
  const views = new Set(members.flatMap(({ listed_ids }) => listed_ids?.join(',') ?? []));
  if (views.size > 1)
    log.fail({
      message: 'the members do not agree on who is a member',
      hint: 'opsctl kv member list --endpoints URL for each',
    });
};

const memberIds = ({ members }: Observation): string[] => members.flatMap(({ member_id }) => member_id ?? []);

const checkDuplicates = ({ members }: Observation, log: Log): void => {
  const twice = members.find(
    ({ member_id }, i) =>
      member_id !== undefined && members.findIndex((one) => one.member_id === member_id) !== i,
  );
  if (twice !== undefined)
    log.fail({
      member: twice.name,
      message: `${twice.name} and another entry of the cluster file are the same member ${hexId(twice.member_id as string)}`,
      hint: 'check the client URLs',
    });
};

/** It answers, and its status does not come: whatever is behind its URL, nothing says which member it is. */
const checkKnown = ({ members }: Observation, log: Log): void => {
  for (const { name, is_reachable, member_id, errors } of members)
    if (is_reachable && member_id === undefined)
      log.fail({
        member: name,
        message: `${name} answers, but its status could not be read (${errors[0] ?? 'no answer'}): which member it is is not known`,
        hint: 'try again; opsctl kv status',
      });
};

/** A member that never started, cannot vote, or is missing in the cluster file. */
const checkListed = (observation: Observation, log: Log): void => {
  const { members, listed } = observation;
  const ids = memberIds(observation);
  for (const row of listed) {
    if (row.name === '')
      log.fail({
        message: `member ${hexId(row.id)} (${row.peer_urls.join(', ')}) was added but never started`,
        hint: 'start it or remove it',
      });
    else if (row.is_learner)
      log.fail({
        member: row.name,
        message: `${row.name} is a learner: it does not vote yet`,
        hint: 'promote it or remove it first',
      });
    else if (members.every(({ member_id }) => member_id !== undefined) && !ids.includes(row.id))
      log.fail({
        message: `member ${row.name} (${hexId(row.id)}) is not in the cluster file`,
        hint: 'add it: every member has to be upgraded',
      });
  }
};

/** The cluster file and the cluster mean the same members: nobody is unknown, unstarted, a learner, or of another cluster. */
export const oneCluster = guard(
  'one-cluster',
  'all members are of one cluster and know the same members',
  ({ observation, cluster }, log) => {
    checkClusterIds(observation, log);
    checkMemberLists(observation, log);
    checkDuplicates(observation, log);
    crossed(observation, cluster, log);
    checkKnown(observation, log);
    checkListed(observation, log);
  },
);
