import { createHash } from 'node:crypto';
import { findingsOf } from './guards/all.ts';
import { isGood } from './guards/quorum-survives.ts';
import { memberSteps, type StepInput } from './member-steps.ts';
import { minorOf, nextMinor, previousMinor, rowOf } from '../../api-specs/etcd/versions.ts';
import type { Minor } from '../../api-specs/etcd/versions.ts';
import type { Finding, MemberSeen, Observation, Plan, PlanKind, Refusal, Step } from '../engine/types.ts';

export type PlanInput = StepInput & { readonly id: string };

type Way = { readonly from?: Minor; readonly to?: Minor };
const wayBack = ({ highest, lowest }: Observation, kind: PlanKind | undefined): Way => {
  const from = kind === 'downgrade' ? highest : lowest;
  const to = from === undefined ? undefined : kind === 'downgrade' ? previousMinor(from) : from;
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
};

export const wayOf = ({
  observation,
  cluster,
  options,
  kind,
}: Pick<PlanInput, 'observation' | 'cluster' | 'options' | 'kind'>): Way => {
  if (kind === 'downgrade' || kind === 'restart') return wayBack(observation, kind);
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
const orderOf = (observation: Observation, to: Minor, kind: PlanKind | undefined): MemberSeen[] => {
  const rank = (member: MemberSeen): number => (!isGood(member) ? 0 : member.is_leader ? 2 : 1);
  return observation.members
    .filter(({ server_version }) => kind === 'restart' || minorOf(server_version) !== to)
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
    .update(
      JSON.stringify([
        plan.cluster,
        plan.from,
        plan.to,
        plan.order,
        members,
        steps,
        plan.options,
        ...(plan.kind === undefined ? [] : [plan.kind]),
      ]),
    )
    .digest('hex');
};

const enableStep = (to: Minor): Step => ({
  id: 'enable-downgrade',
  kind: 'enable-downgrade',
  title: `validate and enable the downgrade to ${to}, and wait until every member reports cluster and storage ${to}`,
  why: 'a member of the older version that starts earlier keeps the cluster where it is',
  commands: [],
});
const confirmStep = (to: Minor): Step => ({
  id: 'confirm',
  kind: 'confirm',
  title: `wait until every member reports cluster ${to}`,
  why: `the leader looks every ${rowOf(to)?.monitorSeconds ?? 5} seconds`,
  commands: [],
});

/** The plan, or all reasons against it. Pure: no clock, no input, no output. */
export const planFrom = (input: PlanInput): Plan | Refusal => {
  const { observation, cluster, options, kind } = input;
  const { from, to } = wayOf(input);
  const findings: Finding[] = findingsOf({ observation, cluster, options, from, to, kind });
  const refused = findings.filter(({ level }) => level === 'fail');
  if (refused.length > 0 || from === undefined || to === undefined) return { refused, findings, observation };
  const order = orderOf(observation, to, kind);
  const making = { input, from, to, order };
  const steps: Step[] = [
    ...(kind === 'downgrade' ? [enableStep(to)] : []),
    ...order.flatMap((seen, i) => memberSteps(making, seen, i)),
    ...(kind === 'restart' ? [] : [confirmStep(to)]),
  ];
  const content = {
    format: 1 as const,
    ...(kind === undefined || kind === 'upgrade' ? {} : { kind }),
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
