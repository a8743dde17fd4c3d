/**
 * Three members in memory behind the fake network, and a driver that stops and starts them. Tests observe the effect of a run
 * on a cluster without a process. Time advances when all tasks wait.
 */
import { createHash } from 'node:crypto';
import { runSession, type SessionInput, type SessionResult } from '../../src/kv/upgrade/execute/session.ts';
import { accessWith } from '../../src/kv/engine/access.ts';
import { observe } from '../../src/kv/upgrade/observe/observe.ts';
import { planFrom } from '../../src/kv/upgrade/plan.ts';
import type { Driver } from '../../src/kv/upgrade/supervisors/driver.ts';
import type {
  ClusterFile,
  JournalEntry,
  MemberSpec,
  Plan,
  PlanKind,
  PlanOptions,
  UpgradeEvent,
} from '../../src/kv/engine/model.ts';
import { grpcFrame } from '../../src/kv/client/messages.ts';
import { numberMessage } from '../../src/core/protobuf.ts';
import { type HttpRequest, NetworkError } from '../../src/platform/host.ts';
import { type FakeHost, type ScriptedReply, fakeHost } from './fake-host.ts';
import { clusterFile, planOptions } from './observations.ts';

type Which = 'old' | 'new';
export type SmallMember = {
  readonly name: string;
  /** A member that was removed and added again has another ID. */
  id: string;
  isUp: boolean;
  which: Which;
  isHealthy: boolean;
  /** The version that is unhealthy, or does not start. */
  sick?: Which | undefined;
  startError?: Which | undefined;
  /** The member continues to run after a stop request. */
  ignoresStop?: boolean;
  entriesBehind: number;
  /** Members that its outgoing connections do not reach. */
  reachesNot?: readonly string[];
  /** The member responds, but the leader does not reach it. */
  knowsNoLeader?: boolean;
};
const hex = (id: string): string => BigInt(id).toString(16);
/** Returns the metrics page with the connections of a member, as 3.4 and later versions print it. */
export const metricsOf = (ids: readonly string[], own: string, reached: readonly string[] = ids): string =>
  ids
    .filter((id) => id !== own)
    .map(
      (id) =>
        `etcd_network_active_peers{Local="${hex(own)}",Remote="${hex(id)}"} ${reached.includes(id) ? 1 : 0}\n`,
    )
    .join('');
const noLog: string[] = [];
/** The log lines of a member that has opened a connection to each other one. */
export const openedLines = (ids: readonly string[], own: string, start = 0): string[] =>
  ids
    .filter((id) => id !== own)
    .map(
      (id) =>
        `I | rafthttp: established a TCP streaming connection with peer ${hex(id)} (stream Message reader) of start ${start}`,
    );
/** A row of the member list, as the gateway returns it. */
export type Listed = {
  ID: string;
  name: string;
  peerURLs: string[];
  clientURLs: string[];
  isLearner: boolean;
};
type Key = { value: string; lease: string; mod: number; create: number };
type Body = Readonly<Record<string, unknown>>;

const page = Buffer.alloc(512, 7);
const smallSnapshot = Buffer.concat([page, createHash('sha256').update(page).digest()]);
const plain = (text: unknown): string => Buffer.from(String(text), 'base64').toString();
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Wakes sleepers in the order of their times, and only when no other task can run. */
export const withPatience = (host: FakeHost): FakeHost => {
  const sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();
  let isPumping = false;
  const pump = async (): Promise<void> => {
    isPumping = true;
    while (sleepers.size > 0) {
      for (let i = 0; i < 4; i += 1) await new Promise((resolve) => setImmediate(resolve));
      const [next] = [...sleepers].sort((a, b) => a.at - b.at);
      if (next === undefined) continue;
      host.setNow(Math.max(host.now(), next.at));
      next.wake();
    }
    isPumping = false;
  };
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const aborted = (): void => {
        sleepers.delete(sleeper);
        reject(signal?.reason);
      };
      const wake = (): void => {
        sleepers.delete(sleeper);
        signal?.removeEventListener('abort', aborted);
        resolve();
      };
      const sleeper = { at: host.now() + ms, wake };
      sleepers.add(sleeper);
      signal?.addEventListener('abort', aborted, { once: true });
      if (!isPumping) void pump();
    });
  return { ...host, sleep };
};

/** Creates the keys of the store, the leases, and the transactions that locks need. */
const makeKeys = () => {
  const keys = new Map<string, Key>();
  let [revision, leases] = [10, 0];
  const put = ({ key, value, lease = '' }: Body): void => {
    revision += 1;
    const create = keys.get(plain(key))?.create ?? revision;
    keys.set(plain(key), { value: plain(value), lease: String(lease), mod: revision, create });
  };
  const isTrue = ({ key, target, mod_revision }: Body): boolean => {
    const there = keys.get(plain(key));
    return target === 'MOD' ? String(there?.mod) === mod_revision : there === undefined;
  };
  /** `\0` as the end of a range includes every key from the start of the range. */
  const within = ({ key, range_end: end }: Body): string[] =>
    [...keys.keys()].filter((one) =>
      end === undefined ? one === plain(key) : one >= plain(key) && (plain(end) === '\0' || one < plain(end)),
    );
  const answers: Readonly<Record<string, (body: Body) => Body>> = {
    '/kv/put': (body) => {
      put(body);
      return {};
    },
    '/kv/range': (body) => {
      const kvs = within(body).map((key) => {
        const { value, lease, mod, create } = keys.get(key) as Key;
        const revisions = { mod_revision: String(mod), create_revision: String(create), version: '1' };
        return { key: base64(key), value: base64(value), lease, ...revisions };
      });
      return { kvs, count: String(kvs.length) };
    },
    '/kv/deleterange': (body) => {
      const gone = within(body);
      for (const key of gone) keys.delete(key);
      return { deleted: String(gone.length) };
    },
    '/kv/txn': ({ compare, success }) => {
      const succeeded = (compare as Body[]).every(isTrue);
      if (succeeded) for (const { requestPut } of success as { requestPut: Body }[]) put(requestPut);
      return { succeeded };
    },
    '/lease/grant': () => {
      leases += 1;
      return { ID: String(leases) };
    },
    '/lease/keepalive': () => ({ result: { TTL: '60' } }),
    '/lease/revoke': ({ ID }) => {
      for (const [key, { lease }] of keys) if (lease === ID) keys.delete(key);
      return {};
    },
    '/lease/leases': () => ({ leases: [] }),
  };
  return { keys, answers, revision: () => revision };
};

const MINORS: Readonly<Record<PlanKind, readonly [string, string]>> = {
  upgrade: ['3.4.45', '3.5.30'],
  restart: ['3.5.30', '3.5.30'],
  downgrade: ['3.6.12', '3.5.30'],
};

/** `kind` selects the versions that the members run before and after. `done` lists the actions on the members. */
export const smallCluster = (kind: PlanKind = 'upgrade', patch: Partial<ClusterFile> = {}) => {
  const [oldVersion, newVersion] = MINORS[kind];
  const versions: Readonly<Record<Which, string>> = { old: oldVersion, new: newVersion };
  const cluster = clusterFile(3, { timeouts: { gate_seconds: 3 }, ...patch });
  const members = new Map<string, SmallMember>(
    cluster.members.map(({ name }, i) => [
      name,
      { name, id: String(1001 + i), isUp: true, which: 'old', isHealthy: true, entriesBehind: 0 },
    ]),
  );
  const all = [...members.values()];
  const store = makeKeys();
  const state = {
    leader: 'n1',
    /** Whether the cluster version has changed. It changes when every member runs the new version. */
    hasMoved: false,
    alarms: [] as { memberID: string; alarm: string }[],
    hash: new Map<string, string>(),
    downgradeTo: undefined as string | undefined,
    log: noLog,
    hasNoMonitor: false,
    /** Duration of one response. Some waits end after a number of responses. */
    answerMs: 1,
    refusesTransfer: false,
    /** The bytes of a snapshot with their checksum. The default is not a database. */
    snapshot: smallSnapshot as Buffer,
    /** Returns another reply of a member, or undefined for its usual reply. `call` is a path such as `/kv/put`. */
    replyOf: undefined as ((name: string, call: string, body: Body) => ScriptedReply | undefined) | undefined,
    listed: cluster.members.map(({ name, client_url }): Listed => {
      const { id: ID } = members.get(name) as SmallMember;
      return { ID, name, peerURLs: [], clientURLs: [client_url], isLearner: false };
    }),
  };
  const done: string[] = [];
  const of = (name: string): SmallMember => members.get(name) as SmallMember;
  const minor = (version: string): string => version.split('.').slice(0, 2).join('.');
  const clusterVersion = (): string => {
    if (kind === 'downgrade') return `${minor(state.downgradeTo ?? oldVersion)}.0`;
    if (!state.hasNoMonitor && all.every(({ isUp, which }) => isUp && which === 'new')) state.hasMoved = true;
    return `${minor(state.hasMoved ? newVersion : oldVersion)}.0`;
  };
  const isGood = ({ isUp, isHealthy, sick, which }: SmallMember): boolean =>
    isUp && isHealthy && sick !== which;
  const statusOf = (member: SmallMember): Body => ({
    version: versions[member.which],
    leader: member.knowsNoLeader === true ? '0' : of(state.leader).id,
    raftIndex: String(100 + store.revision() - member.entriesBehind),
    raftAppliedIndex: String(100 + store.revision() - member.entriesBehind),
    raftTerm: '2',
    dbSize: '20480',
    dbSizeInUse: '20480',
    ...(state.downgradeTo === undefined
      ? {}
      : { downgradeInfo: { enabled: true, targetVersion: minor(state.downgradeTo) } }),
  });
  const callAnswers: Readonly<Record<string, (body: Body, member: SmallMember) => Body>> = {
    ...store.answers,
    '/maintenance/status': (_, member) => statusOf(member),
    '/maintenance/alarm': ({ action, memberID, alarm }) => {
      if (action === 'DEACTIVATE')
        state.alarms = state.alarms.filter((one) => one.memberID !== memberID || one.alarm !== alarm);
      return { alarms: state.alarms };
    },
    '/maintenance/defragment': (_, { name }) => {
      done.push(`defragment ${name}`);
      return {};
    },
    '/kv/compaction': ({ revision }) => {
      done.push(`compact ${revision}`);
      return {};
    },
    '/maintenance/hashkv': (_, { name }) => ({ hash: state.hash.get(name) ?? '7', compact_revision: '0' }),
    '/maintenance/snapshot': (_, { name }) => {
      done.push(`snapshot ${name}`);
      return { result: { blob: state.snapshot.toString('base64') } };
    },
    '/maintenance/downgrade': ({ action, version }) => {
      done.push(`downgrade ${action}`);
      if (action === 'ENABLE') state.downgradeTo = `${version}.0`;
      if (action === 'CANCEL') state.downgradeTo = undefined;
      return {};
    },
    '/cluster/member/list': () => ({ members: state.listed }),
    '/cluster/member/add': ({ peerURLs, isLearner = false }) => {
      const ID = String(2001 + state.listed.length + done.length);
      state.listed.push({
        ...{ ID, name: '', clientURLs: [] },
        ...{ peerURLs: peerURLs as string[], isLearner: isLearner === true },
      });
      done.push(`add ${String(peerURLs)}`);
      return { member: { ID } };
    },
    '/cluster/member/remove': ({ ID }) => {
      state.listed = state.listed.filter((one) => one.ID !== ID);
      done.push(`remove ${ID}`);
      return {};
    },
    '/cluster/member/promote': ({ ID }) => {
      for (const one of state.listed) if (one.ID === ID) one.isLearner = false;
      done.push(`promote ${ID}`);
      return {};
    },
    '/cluster/member/update': ({ ID, peerURLs }) => {
      for (const one of state.listed) if (one.ID === ID) one.peerURLs = peerURLs as string[];
      done.push(`update ${ID}`);
      return {};
    },
    '/auth/status': () => ({ enabled: false }),
  };
  const moveLeader = ({ targetID }: Body): ScriptedReply => {
    if (state.refusesTransfer) return { status: 500, body: { error: 'no', code: 2, message: 'no' } };
    state.leader = all.find(({ id }) => id === targetID)?.name ?? state.leader;
    done.push(`leader ${state.leader}`);
    return { body: {} };
  };
  /** Serves the calls that the gateway of 3.4 does not offer. */
  const grpcAnswer = ({ name }: SmallMember, path: string): ScriptedReply => {
    if (!path.endsWith('/HashKV')) return { status: 404 };
    const hash = numberMessage(2, Number(state.hash.get(name) ?? '7'));
    return { headers: { 'content-type': 'application/grpc' }, body: Uint8Array.from(grpcFrame(hash)) };
  };
  const answer = (member: SmallMember, path: string, request: HttpRequest): ScriptedReply => {
    const isOn35 = minor(versions[member.which]) !== '3.4';
    if (path === '/version') {
      const storage = kind === 'downgrade' ? { storage: clusterVersion() } : {};
      return {
        body: { etcdserver: versions[member.which], etcdcluster: clusterVersion(), ...storage },
      };
    }
    if (path === '/health')
      return isGood(member)
        ? { body: { health: 'true' } }
        : { status: 503, body: { health: 'false', reason: 'sick' } };
    if (path === '/readyz') return { status: 404 };
    if (path === '/metrics') {
      const reached = all.filter(({ name, isUp }) => isUp && member.reachesNot?.includes(name) !== true);
      return {
        body: metricsOf(
          all.map(({ id }) => id),
          member.id,
          reached.map(({ id }) => id),
        ),
      };
    }
    const call = path.replace(/^\/v3(?:beta|alpha)?/, '').replace(/^\/kv\/lease/, '/lease');
    const body = JSON.parse(String(request.body ?? '{}')) as Body;
    const scripted = state.replyOf?.(member.name, call, body);
    if (scripted !== undefined) return scripted;
    if (call === '/maintenance/transfer-leadership') return moveLeader(body);
    const answered = callAnswers[call]?.(body, member);
    if (answered === undefined || (call === '/maintenance/hashkv' && !isOn35)) return { status: 404 };
    const revision = String(store.revision());
    const header = { member_id: member.id, cluster_id: '77', revision, raft_term: '2' };
    return { body: { header, ...answered } };
  };
  const host = withPatience(
    fakeHost({
      reply: (request) => {
        host.advance(state.answerMs);
        const url = new URL(request.url);
        const spec = cluster.members.find(({ client_url }) => new URL(client_url).port === url.port);
        const member = members.get(spec?.name ?? '');
        if (member === undefined || !member.isUp)
          throw new NetworkError('REFUSED', `${url.host}: connection refused`, false);
        if (request.transport === 'http2') return grpcAnswer(member, url.pathname);
        return answer(member, url.pathname, request);
      },
    }),
  );
  const nextLeader = (): void => {
    const next = all.find(isGood);
    if (next !== undefined && !of(state.leader).isUp) state.leader = next.name;
  };
  const end = (name: string): void => {
    of(name).isUp = false;
    nextLeader();
  };
  const starts = new Map<string, number>();
  let lastStart = 0;
  /** Without a log of the test: the connections that a member opened since the last start of both members. */
  const logOf = (name: string): readonly string[] =>
    state.log === noLog
      ? all
          .filter((one) => of(name).reachesNot?.includes(one.name) !== true)
          .map((one) => ({ id: one.id, start: Math.max(starts.get(name) ?? 0, starts.get(one.name) ?? 0) }))
          .toSorted((a, b) => a.start - b.start)
          .flatMap(({ id, start }) => openedLines([id], of(name).id, start))
      : state.log;
  const driver: Driver = {
    kind: 'systemd',
    facts: async () => ({
      ...{ is_running: true, old_binary_version: oldVersion, new_binary_version: newVersion },
      ...{ data_dir_exists: true, data_dir_writable: true, has_db_file: true, db_file_bytes: 20_480 },
      ...{ free_bytes: 10_000_000_000, v2_bytes: 0, clock_skew_ms: 0 },
    }),
    process: async ({ name }) => (of(name).isUp ? { state: 'running' } : { state: 'gone' }),
    stop: async ({ name }) => {
      done.push(`stop ${name}`);
      if (of(name).ignoresStop === true) return false;
      end(name);
      return true;
    },
    kill: async ({ name }) => {
      done.push(`kill ${name}`);
      end(name);
    },
    stage: async ({ name }, { from, to }) => {
      done.push(`stage ${name}`);
      return { member: name, previous: { minor: from }, next: { minor: to } };
    },
    activate: async ({ name }, which) => void done.push(`activate ${name} ${which}`),
    discard: async ({ name }) => void done.push(`discard ${name}`),
    start: async ({ name }, which) => {
      done.push(`start ${name} ${which}`);
      const member = of(name);
      if (member.startError === which) throw new Error(`${which} does not start`);
      Object.assign(member, { isUp: true, which });
      lastStart += 1;
      starts.set(name, lastStart);
      nextLeader();
      return {};
    },
    copyData: async ({ name, data_dir }, ending) => {
      done.push(`copy ${name} ${data_dir}${ending}`);
      return { path: `${data_dir}${ending}`, files: 3, bytes: 2048 };
    },
    readFile: (_: MemberSpec, path) => host.files.read(path),
    writeFile: async (_: MemberSpec, path, text) => host.files.replace(path, text, 0o600),
    logTail: async ({ name }: MemberSpec) => logOf(name),
    describe: () => [],
  };
  const access = accessWith(host, undefined, undefined);
  const observation = () => observe({ host, cluster, access, driver, isDeep: true });
  const plan = async (options: Partial<PlanOptions> = {}): Promise<Plan> => {
    const made = planFrom({
      observation: await observation(),
      cluster,
      options: planOptions({ stable_seconds: 0, stable_before_last_seconds: 0, ...options }),
      describe: () => [],
      id: '20260102T030405Z-1',
      ...(kind === 'upgrade' ? {} : { kind }),
    });
    if ('refused' in made) throw new Error(made.refused.map(({ message }) => message).join('; '));
    return made;
  };
  return {
    host,
    cluster,
    access,
    driver,
    plan,
    observation,
    members: of,
    state,
    done,
    keys: store.keys,
    end,
  };
};
export type SmallCluster = ReturnType<typeof smallCluster>;

/** The directory of all runs on the fake machine. */
export const STATE = '/state';

/** Runs or resumes the session on the cluster, and returns the result with its events and journal. */
export const conducted = async (
  small: SmallCluster,
  plan: Plan,
  patch: Partial<SessionInput> = {},
): Promise<SessionResult & { readonly events: UpgradeEvent[]; readonly journal: JournalEntry[] }> => {
  const { host, cluster, access, driver } = small;
  const events: UpgradeEvent[] = [];
  const result = await runSession({
    ...{ host, cluster, access, driver, plan, clusterFile: '/cluster.yaml', state: STATE, run: plan.id },
    ...{ action: 'upgrade', signal: new AbortController().signal, confirmCrossing: async () => true },
    ...{ hasCanary: false, canKill: false },
    ...patch,
    sink: (event) => {
      events.push(event);
      patch.sink?.(event);
    },
  });
  return { ...result, events, journal: journalOf(small, plan) };
};

export const journalOf = ({ host }: Pick<SmallCluster, 'host'>, { cluster, id }: Plan): JournalEntry[] =>
  (host.files.readNow(`${STATE}/${cluster}/${id}/journal.jsonl`) ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as JournalEntry);

/** Formats the lines of a journal in short form: `begin n2.stop`, `reverting n2`. */
export const inShort = (entries: readonly JournalEntry[]): string[] =>
  entries.map((entry) => {
    const what =
      'step' in entry
        ? entry.step
        : 'member' in entry
          ? entry.member
          : entry.kind === 'closed'
            ? entry.outcome
            : entry.kind === 'placed'
              ? entry.placement.member
              : entry.kind === 'snapshot'
                ? entry.snapshot.member
                : '';
    // A step may note a fact in a second line, for example how the member treats clients.
    const kind = entry.kind === 'begin' && entry.note !== undefined ? 'note' : entry.kind;
    return `${kind} ${what}`.trim();
  });
