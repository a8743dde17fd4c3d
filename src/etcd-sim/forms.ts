import { childPath, pathPart } from '../core/file-name.ts';
import { storedList } from '../core/text.ts';
import type { Host } from '../platform/host.ts';

/**
 * How each version speaks, as data (spec/store#measured-versions). Written apart from the client's rows on purpose: a mistake in one table
 * must not be repeated by the other side.
 */
export type Form = {
  readonly minor: string;
  /** Supported gateway prefixes. */
  readonly prefixes: readonly string[];
  /** spec/program#choices: the simulated 3.3 returns 308 for the old prefix. */
  readonly redirects: Readonly<Record<string, string>>;
  health(isHealthy: boolean, reason: string): string;
  /** An alarm NOSPACE makes the member unhealthy. */
  readonly healthSeesAlarms: boolean;
  readonly logsHealth: boolean;
  readonly errorBody: 'error+code' | 'error+message+code' | 'code+message';
  /** `", "` between the fields of a response. */
  readonly isSpaced: boolean;
  readonly tokenHeaders: readonly string[];
  /** A gateway call without a body is the empty request, not an error. */
  readonly takesNothing: boolean;
  readonly snapshotNewlines: boolean;
  readonly logLines: 'text' | 'json';
  readonly has: {
    readonly leases: boolean;
    readonly newLeasePaths: boolean;
    readonly transferLeader: boolean;
    readonly hashKv: boolean;
    readonly appliedIndex: boolean;
    readonly learners: boolean;
    readonly authStatus: boolean;
    readonly v2: boolean;
    readonly readyz: boolean;
    readonly alarmHeader: boolean;
    /** The version of the data, and a way to lower the cluster's version again. */
    readonly downgrade: boolean;
  };
  /** The second gateway: other HTTP codes, JSON even for unknown paths, tokens with and without `Bearer`. */
  readonly isGateway2: boolean;
};
const compact = (isHealthy: boolean): string => (isHealthy ? '{"health":"true"}' : '{"health":"false"}\n');
const base = {
  redirects: {},
  health: compact,
  healthSeesAlarms: true,
  logsHealth: true,
  errorBody: 'error+code',
  isSpaced: false,
  tokenHeaders: ['authorization', 'grpc-metadata-token'],
  takesNothing: false,
  snapshotNewlines: true,
  logLines: 'text',
  isGateway2: false,
} as const;
const nothing = {
  leases: false,
  newLeasePaths: false,
  transferLeader: false,
  hashKv: false,
  appliedIndex: false,
  learners: false,
  authStatus: false,
  v2: false,
  readyz: false,
  alarmHeader: false,
  downgrade: false,
};
const since33 = { ...nothing, leases: true, transferLeader: true };
const since34 = { ...since33, newLeasePaths: true, appliedIndex: true, learners: true };
const since35 = { ...since34, hashKv: true, authStatus: true, readyz: true, alarmHeader: true };
const form35: Form = {
  ...base,
  minor: '3.5',
  prefixes: ['/v3', '/v3beta'],
  health: (isHealthy, reason) => `{"health":"${isHealthy}","reason":"${isHealthy ? '' : reason}"}`,
  errorBody: 'code+message',
  isSpaced: true,
  takesNothing: true,
  logLines: 'json',
  has: since35,
};
const forms: readonly Form[] = [
  {
    ...base,
    minor: '3.2',
    prefixes: ['/v3alpha'],
    // spec/store#interfaces: the string form; 3.2 writes a space after the colon and no newline.
    health: (isHealthy) => `{"health": "${isHealthy}"}`,
    healthSeesAlarms: false,
    logsHealth: false,
    tokenHeaders: ['grpc-metadata-token'],
    snapshotNewlines: false,
    has: { ...nothing, v2: true },
  },
  // spec/store#interfaces: requests to /v3alpha redirect to /v3beta; removed in 3.4.
  {
    ...base,
    minor: '3.3',
    prefixes: ['/v3beta'],
    redirects: { '/v3alpha': '/v3beta' },
    has: { ...since33, v2: true },
  },
  {
    ...base,
    minor: '3.4',
    prefixes: ['/v3', '/v3beta'],
    errorBody: 'error+message+code',
    takesNothing: true,
    has: since34,
  },
  form35,
  ...['3.6', '3.7'].map(
    (minor): Form => ({ ...form35, minor, isGateway2: true, has: { ...since35, downgrade: true } }),
  ),
];
export const simulatedMinors: readonly string[] = forms.map(({ minor }) => minor);
export const minorOf = (version: string): string => version.split('.').slice(0, 2).join('.');
/** Negative, 0 or positive. */
export const compareMinors = (a: string, b: string): number => {
  const [majorA = 0, minorA = 0] = a.split('.').map(Number);
  const [majorB = 0, minorB = 0] = b.split('.').map(Number);
  return majorA - majorB || minorA - minorB;
};
/** Versions whose real ctl program can move the revisions forward (measured: 3.5.16 and 3.5.30 have the flags, 3.4.23 does not). */
export const bumpsRevisions = (version: string): boolean => compareMinors(minorOf(version), '3.5') >= 0;
/** Versions whose etcdctl has no `snapshot restore`: only their etcdutl restores. */
export const restoresWithUtl = (version: string): boolean => compareMinors(minorOf(version), '3.6') >= 0;
export const formOf = (version: string): Form | undefined =>
  forms.find((form) => form.minor === minorOf(version));
const latest = forms[forms.length - 1] as Form;
/** All capabilities together. */
export const everyForm: Form = {
  ...latest,
  has: Object.fromEntries(Object.keys(latest.has).map((name) => [name, true])) as Form['has'],
};

export type Level = 'I' | 'N' | 'W' | 'E' | 'C';
export type MemberLog = (level: Level, source: string, text: string) => void;
const words: Readonly<Record<Level, string>> = { I: 'info', N: 'info', W: 'warn', E: 'error', C: 'fatal' };
/** `2026-03-31 12:30:00.123456 I | rafthttp: …` up to 3.4, one JSON object a line from 3.5 on. */
export const logLine = (form: Form, atMs: number, level: Level, source: string, text: string): string => {
  const iso = new Date(atMs).toISOString();
  if (form.logLines === 'json')
    return JSON.stringify({ level: words[level], ts: iso, caller: source, msg: text });
  return `${iso.slice(0, 10)} ${iso.slice(11, 23)}000 ${level} | ${source}: ${text}`;
};
/** Real servers print IDs without leading zeros. Inside a simulated member, every ID has 16 digits. */
export const printedIds = (text: string): string =>
  text.replace(/\b(?=[0-9a-f]{16}\b)0+([1-9a-f][0-9a-f]*)/g, '$1');
/** Writes to stderr, as the real servers do; the one who starts the process decides which file that is. */
export const memberLog = (host: Host, form: Form): MemberLog => {
  return (level, source, text) => {
    // The log must never stop the member: a closed reader is ignored.
    host.terminal.stderr
      .write(`${logLine(form, host.now(), level, source, printedIds(text))}\n`)
      .catch(() => {});
  };
};

/**
 * Faults on demand, and the duration for those that have one. A fault may be limited to one version, so that
 * only the new (or the old) binary has it.
 */
export const faultKinds = {
  'crash-at-start': { says: 'the process exits with an error immediately after its start' },
  'slow-start': { says: 'the process runs for the given milliseconds before it listens', ms: 4_000 },
  'exit-after': { says: 'the process exits with an error the given milliseconds after its start', ms: 1_000 },
  'never-healthy': { says: 'the process runs but never joins the cluster' },
  'ignore-sigterm': { says: 'the process does not end on SIGTERM' },
  'disk-full': { says: 'the next write to its log fails, and the process exits with an error' },
  'clock-skew': { says: 'the clock of the member is the given milliseconds ahead', ms: 60_000 },
  slow: { says: 'every response to a client is delayed by the given milliseconds', ms: 100 },
  cut: { says: 'messages to and from the other members are lost' },
  'cut-in': { says: 'messages from the other members are lost; messages to them arrive' },
  'cut-out': { says: 'messages to the other members are lost; messages from them arrive' },
  'links-out': {
    says: 'its own connections to the other members fail (their certificates); it takes part over the connections of the others',
  },
  'links-in': {
    says: 'the connections of the other members to it fail (its certificate); it takes part over its own connections',
  },
} as const satisfies Readonly<Record<string, { readonly says: string; readonly ms?: number }>>;
export type FaultKind = keyof typeof faultKinds;
export type Fault = { readonly kind: FaultKind; readonly ms?: number; readonly version?: string };
/** The time that a fault has when none is given. */
export const defaultMs = (kind: FaultKind): number | undefined => {
  const row = faultKinds[kind];
  return 'ms' in row ? row.ms : undefined;
};
export const faultFile = (directory: string, member: string): string =>
  childPath(directory, pathPart(`${member}.json`));
const fault = { kind: 'text', ms: 'number?', version: 'text?' } as const;
export const readFaults = async (host: Host, path: string): Promise<Fault[]> => {
  const text = await host.files.read(path);
  return text === undefined
    ? []
    : storedList<Fault>(path, text, fault, [`remove ${path}: it has no fault then`]);
};
/** The active faults of this member. They are read again on request. */
export class Faults {
  #all: readonly Fault[];
  readonly #minor: string;
  constructor(all: readonly Fault[], version: string) {
    this.#all = all;
    this.#minor = minorOf(version);
  }
  replace(all: readonly Fault[]): void {
    this.#all = all;
  }
  find(kind: FaultKind): Fault | undefined {
    return this.#all.find(
      (fault) =>
        fault.kind === kind && (fault.version === undefined || minorOf(fault.version) === this.#minor),
    );
  }
  #has(...kinds: readonly FaultKind[]): boolean {
    return kinds.some((kind) => this.find(kind) !== undefined);
  }
  get sendsNothing(): boolean {
    return this.#has('cut', 'never-healthy', 'cut-out');
  }
  get hearsNothing(): boolean {
    return this.#has('cut', 'never-healthy', 'cut-in');
  }
  get failsOwnLinks(): boolean {
    return this.#has('links-out');
  }
  get refusesLinks(): boolean {
    return this.#has('links-in');
  }
  get delayMs(): number {
    return this.find('slow')?.ms ?? 0;
  }
  get skewMs(): number {
    return this.find('clock-skew')?.ms ?? 0;
  }
}
