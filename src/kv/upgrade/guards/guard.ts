import { adviceText } from '../../../core/next.ts';
import type { Minor } from '../../../api-specs/etcd/versions.ts';
import type { CheckFinding } from '../../../core/result.ts';
import type {
  ClusterFile,
  Finding,
  HostFacts,
  MemberStatus,
  MemberSpec,
  Observation,
  PlanKind,
  PlanOptions,
} from '../../engine/model.ts';

export type GuardInput = {
  readonly observation: Observation;
  readonly cluster: ClusterFile;
  readonly options: PlanOptions;
  /** The lowest running version and the target version; undefined if they are unknown. */
  readonly from?: Minor;
  readonly to?: Minor;
  /** Absent: an upgrade. */
  readonly kind?: PlanKind | undefined;
  /** Some members have already been switched, so members differ from the start of the plan. */
  readonly isUnderWay?: boolean;
};
/** One precondition. A `pass` names the facts that were checked. Pure. */
export type Guard = { readonly id: string; readonly findings: (input: GuardInput) => readonly Finding[] };
type Said = Omit<Finding, 'guard' | 'level'>;
/** `unknown` means that a fact could not be observed. It is never a pass. */
export type Log = { fail(said: Said): void; warn(said: Said): void; noteUnknown(said: Said): void };
/** Facts that a guard needs about a member before the member can pass. */
type Sees = (member: MemberStatus) => boolean;
export const memberFacts = {
  answer: ({ is_reachable }) => is_reachable,
  host: ({ host }) => host !== undefined,
  /** A driver without access to the files of the member reports no directory. */
  directory: ({ host }) => host?.data_dir_exists !== undefined,
  space: ({ host }) => host?.free_bytes !== undefined,
  clock: ({ host }) => host?.clock_skew_ms !== undefined,
} as const satisfies Readonly<Record<string, Sees>>;
const unseenFinding = (
  id: string,
  good: string,
  members: readonly MemberStatus[],
  isSeen: Sees,
): Finding[] => {
  const unseen = members.filter((member) => !isSeen(member)).map(({ name }) => name);
  if (unseen.length === 0) return [];
  return [
    {
      guard: id,
      level: 'unknown',
      message: `cannot check ${unseen.join(', ')}, so it is unknown whether ${good}`,
    },
  ];
};
type Texts = {
  /** The statement of a passed guard; absent: the general statement. */
  readonly statement?: (input: GuardInput) => string | undefined;
  /**
   * The reason why the guard does not apply to this cluster or this path. Such a guard passes without a
   * check, so the reason must not depend on a member that did not respond.
   */
  readonly skips?: (input: GuardInput) => string | undefined;
};
/**
 * Returns `pass` if the guard has no finding and saw every member. `good` is a clause about the cluster that
 * is also correct after "it is unknown whether".
 */
export const guard = (
  id: string,
  good: string,
  look: (input: GuardInput, log: Log) => void,
  isSeen: Sees = memberFacts.answer,
  texts: Texts = {},
): Guard => {
  const reportPass = ({ observation }: GuardInput, message: string): Finding[] => {
    const unseen = unseenFinding(id, good, observation.members, isSeen);
    return unseen.length > 0 ? unseen : [{ guard: id, level: 'pass', message }];
  };
  return {
    id,
    findings: (input) => {
      const skipped = texts.skips?.(input);
      if (skipped !== undefined) return [{ guard: id, level: 'pass', message: `does not apply: ${skipped}` }];
      const found: Finding[] = [];
      const add = (level: Finding['level']) => (said: Said) => void found.push({ guard: id, level, ...said });
      look(input, { fail: add('fail'), warn: add('warn'), noteUnknown: add('unknown') });
      return found.length > 0 ? found : reportPass(input, texts.statement?.(input) ?? good);
    },
  };
};
/**
 * Guards whose `fail` an operator may accept as a warning. A skipped version or an incorrect binary cannot be
 * accepted.
 */
export const acceptable: readonly string[] = [
  'all-members-healthy',
  'quorum-survives',
  'members-keep-up',
  'disk-space',
  'configuration-fits',
  'data-directories',
  'leader-agreed',
  'peer-links',
  'certificates',
  'known-versions',
  'client-interfaces',
  'quota',
  'no-v2-data',
  'v2-backup',
];
/** An operation in which all members start together: no healthy member is left to keep the data. */
export type JointStart = 'upgrade --offline' | 'restore';
/**
 * Findings that refuse a joint start unless the operator accepts them, and what the operator checks instead. They are
 * unknown, except `disk-space`. A start of one member after the other reports an unknown finding and continues.
 */
const consents: Readonly<Record<string, { readonly check: string; readonly of: readonly JointStart[] }>> = {
  'cluster-hold': { check: 'the cluster is not held', of: ['upgrade --offline'] },
  'one-cluster': {
    check: 'no start contains force-new-cluster, which removes all other members',
    of: ['upgrade --offline', 'restore'],
  },
  // Some file systems report no free space, or less than they have.
  'disk-space': { check: 'the disk has enough space for the new directories', of: ['restore'] },
};
export const consentsOf = (operation: JointStart): string[] =>
  Object.keys(consents).filter((id) => consents[id]?.of.includes(operation));
/** The operations that accept a guard only if its finding is unknown. */
export const operationsOf = (id: string): readonly JointStart[] => consents[id]?.of ?? [];
export const consentHint = (id: string): string =>
  `make sure that ${consents[id]?.check}, then add --accept ${id}`;
/** Returns a refusal for an unknown finding, or a warning if the operator accepted it. */
export const toConsent = (one: Finding, accept: readonly string[], refused = ''): Finding => {
  if (one.level !== 'unknown' || consents[one.guard] === undefined) return one;
  return accept.includes(one.guard)
    ? { ...one, level: 'warn', message: `${one.message} (accepted)` }
    : { ...one, level: 'fail', message: `${one.message}${refused}`, hint: consentHint(one.guard) };
};

export const countsOf = (findings: readonly Finding[]) => {
  const count = (level: string): number => findings.filter((finding) => finding.level === level).length;
  return { pass: count('pass'), warn: count('warn'), unknown: count('unknown'), fail: count('fail') };
};
/** Converts a finding to the format for reports of CI services. */
export const reportable = (
  { guard, level, member, message, hint }: Finding,
  file: string | undefined,
): CheckFinding => ({
  rule: guard,
  level,
  message,
  ...(member === undefined ? {} : { subject: member }),
  ...(hint === undefined ? {} : { hint: adviceText(hint) }),
  ...(file === undefined ? {} : { file }),
});

/**
 * The hint for a host that could not be inspected: a failed connection is not a mistake in the cluster file.
 */
export const hintForHost = (host: HostFacts, spec: MemberSpec | undefined, otherwise: string): string =>
  host.is_unreachable === true && spec?.host !== undefined
    ? `make sure that ssh ${spec.host} true works without a prompt and within 5 s`
    : otherwise;
