import { cutText } from '../../../core/problem.ts';
import type { Exit } from '../../../platform/host.ts';
import { hexId } from '../../client/messages.ts';
import { type Status, type Store, probeKey } from '../../client/etcd-client.ts';
import type { AccessProbe, AccessResults, GateCheck, MemberSpec, Step } from '../../engine/model.ts';
import { stepId } from '../../engine/steps.ts';
import { v2BytesOf } from '../guards/store.ts';
import {
  type BeatSample,
  linksInLog,
  mostPeerErrors,
  openedInLog,
  peerErrors,
  type PeerMetrics,
  readPeerMetrics,
} from '../observe/see-member.ts';
import { kindOf } from '../plan-kind.ts';
import {
  type Checking,
  type LogEnd,
  type Run,
  type StartedProcess,
  memberOf,
  getMemberStatus,
} from '../run.ts';
import {
  accessProbes,
  beatWindowMs,
  mostWindows,
  openedInSamples,
  peerUrlOf,
  seeAccess,
} from '../observe/see-connections.ts';
import { newLines } from '../watch/log-lines.ts';

const gibibyte = 1024 ** 3;
/**
 * Measured: a member with 1.2 GB needed 7 to 17 s from its start to its first healthy response, on a busy
 * machine.
 */
const perGibibyteMs = 60_000;
const defaultMs = 60_000;
/** A member with much v2 data needs minutes to catch up (spec/store#limits). */
const v2Ms = 240_000;
const v2Bytes = 50_000_000;
/**
 * Time in which a member must pass its health check: the value of the cluster file, and a share for the data
 * that it must read.
 */
export const gateMs = ({ cluster, plan }: Pick<Checking, 'cluster' | 'plan'>, name: string): number => {
  const given = cluster.timeouts?.gate_seconds;
  const base = given === undefined ? defaultMs : given * 1000;
  const size = getMemberStatus(plan.observation, name)?.db_size_bytes ?? 0;
  const forV2 = v2BytesOf(plan.observation) > v2Bytes ? v2Ms : 0;
  return Math.round(base + (size / gibibyte) * perGibibyteMs + forV2);
};
const sampleMs = 2000;
/** Fewer bytes in a sample come from a log line, not from reading data. */
const leastBytes = 1024 ** 2;
/** After this time, a member that is still busy counts as failed. */
const mostMs = 3_600_000;
const bytesMoved = (text: string | undefined): number | undefined => {
  const found = ['read_bytes', 'write_bytes'].map(
    (name) => new RegExp(`^${name}: (\\d+)`, 'm').exec(text ?? '')?.[1],
  );
  return found.includes(undefined) ? undefined : found.reduce((sum, one) => sum + Number(one), 0);
};
export type ProgressWatch = { look(): Promise<void>; isMoving(): boolean };
/**
 * Returns whether the member's process reads or writes data. Then the member makes progress, regardless of
 * the time. Only works if opsctl can inspect the process.
 */
export const watchProgress = (
  { host, driver, cluster }: Pick<Run, 'host' | 'driver' | 'cluster'>,
  name: string,
): ProgressWatch => {
  const began = host.elapsed();
  let [lookedAt, moved, isMoving] = [began, undefined as number | undefined, false];
  return {
    look: async () => {
      if (driver.kind !== 'local' || host.elapsed() - lookedAt < sampleMs) return;
      lookedAt = host.elapsed();
      const state = await driver.process(memberOf({ cluster }, name));
      const pid = 'pid' in state ? state.pid : undefined;
      const now = pid === undefined ? undefined : bytesMoved(host.files.readNow(`/proc/${pid}/io`));
      isMoving = now !== undefined && moved !== undefined && now - moved >= leastBytes;
      moved = now;
    },
    isMoving: () => isMoving && host.elapsed() - began < mostMs,
  };
};

export type Verdict = {
  /** Null: the check could not run, so it does not count as a failure of the member. */
  readonly ok: boolean | null;
  readonly detail: string;
  /** Waiting cannot fix this failure. */
  readonly isFinal?: true;
  /** The check ran without a result so far. */
  readonly isUnknown?: true;
  /** Waiting gives this check a result, at the latest after `mostWindows` samples of heartbeats. */
  readonly isPending?: true;
  /** Waiting cannot give this check a result. */
  readonly isHopeless?: true;
  /** The process is not running yet: this has no effect on other checks. */
  readonly isStarting?: true;
  /** Present if the check failed because the process has ended. */
  readonly process?: StartedProcess;
};
export const passVerdict = (detail: string): Verdict => ({ ok: true, detail });
export const failVerdict = (detail: string): Verdict => ({ ok: false, detail });
export const skip = (why: string): Verdict => ({ ok: null, detail: `skipped: ${why}` });
/**
 * The check ran without a result. This is not a pass: opsctl repeats the check for some seconds, then reports
 * a warning.
 */
export const unknownVerdict = (why: string): Verdict => ({
  ok: null,
  detail: `unknown: ${why}`,
  isUnknown: true,
});
export const failCheck = (detail: string): Verdict => ({ ok: false, detail, isFinal: true });
export type Gate = {
  readonly run: Checking;
  readonly member: MemberSpec;
  readonly store: Store;
  readonly others: readonly { readonly name: string; readonly store: Store }[];
  /**
   * The version that the member must run: the new version in an upgrade, the old version after a rollback.
   */
  readonly minor: string;
  /** The exact patch version, if old and new have the same minor version. */
  readonly exact?: string;
  /** Whether the member runs its old version, after a rollback. */
  readonly isOld?: true;
  /**
   * Checks that cannot pass in this operation for a reason outside of the member: a store without free space
   * rejects every write.
   */
  readonly skips?: ReadonlySet<GateCheck>;
  /** Resolves when the process that this run started has exited; absent if this run did not start it. */
  exited?: Promise<Exit>;
  exit?: Exit;
  /** The operation started the member, perhaps in an earlier process that could not report its exit. */
  readonly isStarted?: boolean;
  /**
   * The last line of the log of each member before this start, if opsctl could read it. Older lines show
   * connections to the previous process of the member. Absent if an earlier process started the member.
   */
  marks?: ReadonlyMap<string, LogEnd>;
  /** Time of the last inspection of the process, by `elapsed`, and its result. */
  lookedAt?: number;
  lookedLike?: Verdict;
  /** Time of the first check of its connections, by `elapsed`. */
  linksSeenAt?: number;
  /** Samples of the heartbeats of each member, one for each window, by its name. */
  beats?: Map<string, readonly BeatSample[]>;
  /** Time since which the member is healthy and no check has failed, by `elapsed`. */
  goodSince?: number;
  /** How often in a row the members stored the test write at different revisions. */
  differences?: number;
};
export type Check = (gate: Gate) => Promise<Verdict>;
/** The key for writes and reads in the checks of this member. */
export const keyOf = ({ run, member }: Gate): string => probeKey(run.id, member.name);

/**
 * How long members may be unhealthy before this counts against a member. An election needs one to two
 * seconds, and a split vote doubles that time. A request that is lost in an election returns only at its
 * timeout. Measured on three members of 3.3 and 3.4 with one member cut off for a second: it returned as a
 * candidate, and the others were unhealthy for up to 4.9 s.
 */
export const electionGraceMs = 10_000;

const probes: Readonly<Record<AccessProbe, string>> = {
  certificate: 'clients without a certificate',
  plain: 'clients without TLS',
  user: 'clients without a user',
  'host-name': 'requests for another host name',
  'peer-certificate': 'peers without a certificate',
  'peer-plain': 'peers without TLS',
};
const names = Object.keys(probes) as AccessProbe[];
/** The URL for clients and the URL for peers. */
const urlsOf = (
  { cluster, plan }: Pick<Checking, 'cluster' | 'plan'>,
  name: string,
): readonly [string, string | undefined] => {
  const spec = memberOf({ cluster }, name);
  const { members, listed } = plan.observation;
  const id = members.find((one) => one.name === name)?.member_id;
  return [spec.client_url, peerUrlOf(listed, id, spec)];
};
/** Checks how this member treats clients and peers without credentials. */
const seeAccessOf = ({ host, access, ...run }: Checking, name: string): Promise<AccessResults> =>
  seeAccess({ host, access }, ...urlsOf(run, name));
/** The probes that apply to the URLs of this member. */
const probesFor = (run: Checking, name: string): readonly AccessProbe[] => accessProbes(...urlsOf(run, name));
/** Before the stop: the successor must reject what the running member rejects. */
export const recordAccess = async (run: Run, step: Step): Promise<void> => {
  const name = step.member as string;
  const access = await seeAccessOf(run, name);
  if (access.certificate === undefined && memberOf(run, name).client_url.startsWith('https:'))
    run.emit({
      event: 'note',
      level: 'warn',
      text: `${name}: cannot determine whether it rejects clients without a certificate; its health check cannot verify that the new version rejects them`,
    });
  run.journal.write({ kind: 'begin', step: step.id, note: { access } });
};
/**
 * How the member treated such connections before its first stop in this run. Absent in journals of earlier
 * versions if it rejected none.
 */
const recordedAccess = ({ journal }: Pick<Checking, 'journal'>, name: string): AccessResults | undefined => {
  const noted = journal.entries.find(
    (entry) =>
      entry.kind === 'begin' && entry.step === stepId(name, 'stop') && entry.note?.['access'] !== undefined,
  );
  return noted?.kind === 'begin' ? (noted.note?.['access'] as AccessResults) : undefined;
};
/** An operator may change access on purpose with a restart, and confirms this with a flag. */
const isIntended = ({ plan }: Checking): boolean =>
  'options' in plan &&
  kindOf(plan as Run['plan']) === 'restart' &&
  (plan as Run['plan']).options.accept.includes('configuration-fits');
/**
 * An operation without a start of the member, such as a defragmentation, keeps its process and its access. A start
 * without a member starts all members.
 */
const keepsProcess = ({ plan: { operation, steps = [] } }: Checking, name: string): boolean =>
  operation !== undefined &&
  !steps.some(({ kind, member }) => kind === 'start' && (member === undefined || member === name));
/** A member without access control cannot lose it with the new version. */
const restrictedNothing = (before: AccessResults | undefined, wanted: readonly AccessProbe[]): Verdict => {
  const unseen = wanted.filter((name) => before?.[name] === undefined).map((name) => probes[name]);
  return unseen.length === 0
    ? passVerdict('the old version accepted all anonymous connections')
    : skip(`how the old version treated ${unseen.join(' and ')} is unknown`);
};
/**
 * Clients that the old version rejected must still be rejected: a version that ignores a setting about access
 * opens the store without a message.
 */
export const accessIsKept: Check = async ({ run, member }) => {
  const before = recordedAccess(run, member.name);
  const rejected = names.filter((name) => before?.[name] === 'rejected');
  if (before === undefined && keepsProcess(run, member.name)) return passVerdict('was not restarted');
  if (rejected.length === 0) return restrictedNothing(before, probesFor(run, member.name));
  const now = await seeAccessOf(run, member.name);
  const open = rejected.filter((name) => now[name] === 'accepted').map((name) => probes[name]);
  if (open.length > 0 && isIntended(run))
    return passVerdict(`accepts ${open.join(', ')} now, as the operator accepted`);
  if (open.length > 0)
    return failCheck(
      `accepts ${open.join(' and ')}, and rejected them before: this version interprets its configuration differently`,
    );
  const unseen = rejected.filter((name) => now[name] === undefined).map((name) => probes[name]);
  return unseen.length > 0
    ? failVerdict(`did not respond to ${unseen.join(', ')} in time`)
    : passVerdict(`rejects ${rejected.map((name) => probes[name]).join(', ')}, as before`);
};

const tailLines = 400;
type Member = { readonly name: string; readonly store: Store; readonly status: Status };
type Link = { readonly from: Member; readonly to: Member };
type Log = {
  readonly lines: readonly string[];
  /** The lines begin at a start by this run, so a connection that they do not contain was never opened. */
  readonly isComplete: boolean;
  /**
   * The lines since the last start of the gate's member; empty if their start is unknown. Only these lines show
   * a connection to its current process: a peer that received no end of a connection, or has not noticed it
   * yet, still logs a connection to the previous process as opened. Measured on 3.4 with a firewall that drops
   * the packets of connections in one direction: the check passed a second after the start.
   */
  readonly sinceStart: readonly string[];
};
const logOf = async ({ run, member, marks }: Gate, name: string): Promise<Log> => {
  const tail = await run.driver.logTail(memberOf(run, name), tailLines).catch(() => []);
  const mark = run.state?.logMark(name);
  const stored = name === member.name ? mark : undefined;
  const atStart = marks === undefined ? stored : marks.get(name);
  const sinceStart = atStart === undefined ? [] : newLines(atStart, tail);
  // If the log was unreadable before the start, each line may be of the previous process.
  if (mark === undefined)
    return { lines: run.state?.isStarted(name) === true ? [] : tail, isComplete: false, sinceStart };
  const lines = newLines(mark, tail);
  return { lines, isComplete: lines.length < tail.length || tail.length < tailLines, sinceStart };
};
/**
 * A server notices after its read timeout of 5 s that a firewall blocks the connections that it opens. Until
 * then it counts them as active, because of the connections that the other member opened. Measured on 3.4.
 */
const noticeMs = 6000;
/**
 * `active`: the connection is active, and no log shows which member opened it. `pending`: the same, until the
 * server would have noticed a blocked direction.
 */
type Works = boolean | 'active' | 'pending' | undefined;
type Page = { readonly metrics: PeerMetrics | undefined; readonly log: Log };
type Pages = ReadonlyMap<string, Page>;
/** A direction that was blocked before this run was noticed long ago, so only a start is a reason to wait. */
const hasStarted = ({ run, member, exited, isStarted }: Gate, name: string): boolean =>
  run.state?.isStarted(name) === true ||
  (name === member.name && (exited !== undefined || isStarted === true));
/**
 * What the round trips of `from` show; undefined if they show neither. A start is followed by new connections, so a started
 * process that never reached its peer cannot reach it. A member that was started before its peer keeps the round
 * trips to the peer's previous process, so only those of the gate's own member, the newest process, show that
 * a connection works. Measured on 3.4.
 */
const reachedSince = (gate: Gate, { from, to }: Link, metrics: PeerMetrics | undefined): Works => {
  if (!hasStarted(gate, from.name)) return undefined;
  const isReached = metrics?.reached.get(hexId(to.status.member_id));
  return isReached === true && from.name !== gate.member.name ? undefined : isReached;
};
const noLog: Log = { lines: [], isComplete: false, sinceStart: [] };
type OpenedBy = { readonly isOpened: boolean | undefined; readonly isShownSinceStart: boolean };
const openedBy = (log: Log, id: string): OpenedBy => ({
  isOpened: openedInLog(log.lines, log.isComplete).get(id),
  isShownSinceStart: openedInLog(log.sinceStart, false).get(id) === true,
});
/**
 * Undefined if neither the metrics nor the log shows it. The raft state is not evidence: a message between two
 * members passes through a connection that either of them opened. Measured on 3.3 and 3.4: a member that could
 * open no connection received the leadership, and the others applied its entries.
 */
const works = (gate: Gate, { from, to }: Link, pages: Pages): Works => {
  const { run, linksSeenAt = 0 } = gate;
  const { metrics, log = noLog } = pages.get(from.name) ?? {};
  const links = metrics?.links;
  const id = hexId(to.status.member_id);
  const isReached = reachedSince(gate, { from, to }, metrics);
  const isActive = links === undefined ? linksInLog(log.lines).get(id) : (links.get(id) ?? false);
  const { isOpened, isShownSinceStart } = openedBy(log, id);
  if (isActive === false) return false;
  const isNew = [from, to].some(({ name }) => hasStarted(gate, name));
  if (isActive === true && (isNew ? isShownSinceStart : isOpened === true)) return true;
  if (isReached === false || isActive === undefined) return isReached;
  // A log that shows the loss of a connection is newer than the round trips before the loss.
  if (isReached === true && isOpened !== false) return true;
  if (isNew && run.host.elapsed() - linksSeenAt < noticeMs) return 'pending';
  return isOpened ?? 'active';
};
/**
 * Whether the member opened its connections to all `peers`, from the heartbeats that it received since the first
 * check. `pending`: until there are enough of them.
 */
const openedByBeats = (gate: Gate, name: string, pages: Pages, peers: number): Works => {
  const { metrics } = pages.get(name) ?? {};
  if (metrics?.beats === undefined || metrics.links !== undefined) return undefined;
  const now = metrics.beats;
  const kept = gate.beats?.get(name) ?? [];
  const isDue = now.sentMs - (kept.at(-1)?.sentMs ?? -Infinity) >= beatWindowMs;
  gate.beats ??= new Map();
  gate.beats.set(name, isDue ? [...kept, now] : kept);
  const isAll = openedInSamples([...kept, now], peers);
  return isAll ?? (kept.length < mostWindows ? 'pending' : undefined);
};
const answering = async ({ member, store, others }: Gate): Promise<readonly Member[]> => {
  const seen = await Promise.all(
    [{ name: member.name, store }, ...others].map(async (one) => ({
      ...one,
      status: await one.store.status().catch(() => undefined),
    })),
  );
  return seen.flatMap(({ status, ...one }) => (status === undefined ? [] : [{ ...one, status }]));
};
/**
 * If a member follows no leader while this member follows a third member, the other member is cut off. Its
 * broken connections are not a reason to revert this member: the run stops before the next member and names
 * the unhealthy member.
 */
const isCutOff = (own: Member, { status }: Member): boolean =>
  status.leader_id === undefined &&
  own.status.leader_id !== undefined &&
  own.status.leader_id !== own.status.member_id;
const formatValue = ({ from, to }: Link): string => `${from.name} to ${to.name}`;
/**
 * Returns whether waiting may show an unseen connection. A member writes its metrics after its own start, and
 * lines into its log after a start of one of both members.
 */
const mayAppear = (gate: Gate, { from, to }: Link, pages: Pages): boolean => {
  const { metrics, log } = pages.get(from.name) ?? {};
  const hasLog = (log?.lines.length ?? 0) > 0;
  return metrics === undefined || hasStarted(gate, from.name) || (hasLog && hasStarted(gate, to.name));
};
type State = { readonly link: Link; readonly ok: Works; readonly isHopeless: boolean };
const verdictOf = (
  state: readonly State[],
  errors: readonly string[],
  others: readonly Member[],
): Verdict => {
  const names = (wanted: Works): string =>
    state
      .filter(({ ok }) => ok === wanted)
      .map(({ link }) => formatValue(link))
      .join(', ');
  const last =
    errors.length >= mostPeerErrors
      ? ` (${errors.length} errors in its log, the last: ${cutText(errors.at(-1) ?? '', 300)})`
      : '';
  const [broken, unseen, pending] = [names(false), names(undefined), names('pending')];
  if (broken !== '') return failVerdict(`no connection between members: ${broken}${last}`);
  if (last !== '') return failVerdict(`connections to other members fail repeatedly${last}`);
  if (pending !== '')
    return {
      ...unknownVerdict(`not known yet whether both members opened the connections ${pending}`),
      isPending: true,
    };
  if (unseen !== '')
    return {
      ...unknownVerdict(
        `neither metrics nor logs show the connections ${unseen}; a leader transfer cannot show them, because it also succeeds through connections that only the other members opened`,
      ),
      ...(state.every(({ ok, isHopeless }) => ok !== undefined || isHopeless) ? { isHopeless: true } : {}),
    };
  const reached = others.map(({ name }) => name).join(', ');
  return passVerdict(
    names('active') === ''
      ? `connected to ${reached} in both directions`
      : `active connections to ${reached} in both directions; the logs do not show which member opened ${names('active')}`,
  );
};
/**
 * Checks every connection between this member and the others in both directions. A member that reaches no
 * peer still follows a leader that reaches it, and still serves all client requests. Unreachable members and
 * members that are cut off are not counted.
 */
export const peerLinksWork: Check = async (gate) => {
  const [own, ...answered] = await answering(gate);
  if (own === undefined || own.name !== gate.member.name) return failVerdict('does not report its status');
  const others = answered.filter((other) => !isCutOff(own, other));
  if (others.length === 0) return passVerdict('no other member responds and follows a leader');
  const pages = new Map(
    await Promise.all(
      [own, ...others].map(async ({ name, store }) => {
        const [metrics, log] = await Promise.all([readPeerMetrics(gate.run.host, store), logOf(gate, name)]);
        return [name, { metrics, log }] as const;
      }),
    ),
  );
  gate.linksSeenAt ??= gate.run.host.elapsed();
  const links = others.flatMap((other): Link[] => [
    { from: own, to: other },
    { from: other, to: own },
  ]);
  const peers = Math.max(gate.others.length, gate.run.plan.observation.listed.length - 1);
  const state = links.map((link) => ({
    link,
    // Without a response of every member, a missing connection may be to one that does not run.
    ok:
      works(gate, link, pages) ??
      (others.length === peers ? openedByBeats(gate, link.from.name, pages, peers) : undefined),
    isHopeless: !mayAppear(gate, link, pages),
  }));
  const ignored = answered
    .filter((other) => isCutOff(own, other))
    .map(({ status }) => hexId(status.member_id));
  const lines = (pages.get(own.name)?.log.lines ?? []).filter(
    (line) => !ignored.some((id) => line.includes(id)),
  );
  return verdictOf(state, peerErrors(lines), others);
};
