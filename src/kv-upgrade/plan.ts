import { createHash } from 'node:crypto';
import { findingsOf } from './guards/all.ts';
import { isGood } from './guards/quorum-survives.ts';
import { memberSteps, type StepInput } from './member-steps.ts';
import { minorOf, nextMinor } from '../api-specs/etcd/versions.ts';
import type { Minor } from '../api-specs/etcd/versions.ts';
import type { Finding, MemberSeen, Observation, Plan, Refusal, Step } from './types.ts';

export type PlanInput = StepInput & { readonly id: string };

export const wayOf = ({
  observation,
  cluster,
  options,
}: Pick<PlanInput, 'observation' | 'cluster' | 'options'>): {
  readonly from?: Minor;
  readonly to?: Minor;
} => {
  const from = observation.lowest;
  const to = (options.to ?? cluster.to ?? (from === undefined ? undefined : nextMinor(from))) as
    | Minor
    | undefined;
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
};

/** True when there is nothing left to do: every member and the cluster are where the plan would end. */
export const isArrived = (observation: Observation, to: Minor): boolean =>
  observation.members.every(({ server_version }) => minorOf(server_version) === to) &&
  minorOf(observation.cluster_version) === to;

/** Sick members first (they cost no quorum), then followers as the file lists them, the leader last. Members that are there already are left alone. */
const orderOf = (observation: Observation, to: Minor): MemberSeen[] => {
  const rank = (member: MemberSeen): number => (!isGood(member) ? 0 : member.is_leader ? 2 : 1);
  return observation.members
    .filter(({ server_version }) => minorOf(server_version) !== to)
    .toSorted((a, b) => rank(a) - rank(b));
};

/** Everything that decides what will be done; times, sizes and indexes do not. */
const digestOf = (plan: Omit<Plan, 'digest' | 'id' | 'made_at'>): string => {
  const members = plan.observation.members.map(
    ({ name, client_url, member_id, cluster_id, server_version, host }) => [
      name,
      client_url,
      member_id,
      cluster_id,
      server_version,
      host?.new_binary_version,
    ],
  );
  const steps = plan.steps.map(({ id, target, wait_seconds, commands }) => [
    id,
    target,
    wait_seconds,
    commands,
  ]);
  return createHash('sha256')
    .update(JSON.stringify([plan.cluster, plan.from, plan.to, plan.order, members, steps, plan.options]))
    .digest('hex');
};

/** The plan, or all reasons against it. Pure: no clock, no input, no output. */
export const planFrom = (input: PlanInput): Plan | Refusal => {
  const { observation, cluster, options } = input;
  const { from, to } = wayOf(input);
  const findings: Finding[] = findingsOf({ observation, cluster, options, from, to });
  const refused = findings.filter(({ level }) => level === 'fail');
  if (refused.length > 0 || from === undefined || to === undefined) return { refused, findings, observation };
  const order = orderOf(observation, to);
  const making = { input, from, to, order };
  const steps: Step[] = [
    ...order.flatMap((seen, i) => memberSteps(making, seen, i)),
    {
      id: 'confirm',
      kind: 'confirm',
      title: `wait until every member reports cluster ${to}`,
      why: 'the leader looks every five seconds',
      commands: [],
    },
  ];
  const content = {
    format: 1 as const,
    cluster: cluster.name,
    from,
    to,
    order: order.map(({ name }) => name),
    steps,
    findings,
    observation,
    options,
  };
  return { ...content, id: input.id, made_at: observation.taken_at, digest: digestOf(content) };
};

export const isRefusal = (made: Plan | Refusal): made is Refusal => 'refused' in made;
