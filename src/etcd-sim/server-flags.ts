import { compareMinors } from './forms.ts';

/** The settings of a server that the simulated member knows, from its command line or its configuration file. */
export type ServerSettings = {
  readonly name: string;
  readonly dataDir: string;
  readonly clientUrls: readonly string[];
  readonly advertisedClientUrls: readonly string[];
  readonly peerUrls: readonly string[];
  readonly advertisedPeerUrls: readonly string[];
  /** Name → peer URLs of every member. */
  readonly cluster: ReadonlyMap<string, readonly string[]>;
  readonly token: string;
  /** It joins members that are there. */
  readonly joins: boolean;
  /** Changes of the members that could cost the majority are refused. */
  readonly isStrict: boolean;
  readonly heartbeatMs: number;
  readonly electionMs: number;
  readonly quotaBytes: number;
  readonly maxRequestBytes: number;
  readonly v2Deprecation: string;
};
/** Why the server does not start: exit code 2 for its command line, 1 for everything else (spec/store#measured-configuration). */
export class StartRefused extends Error {
  readonly code: 1 | 2;
  constructor(code: 1 | 2, message: string) {
    super(message);
    this.code = code;
  }
}

type Known = {
  readonly kind: 'text' | 'number' | 'boolean' | 'retention';
  readonly since?: string;
  readonly until?: string;
};
const text: Known = { kind: 'text' };
const number: Known = { kind: 'number' };
const boolean: Known = { kind: 'boolean' };
const oldNames = [
  ...['compaction-batch-limit', 'compaction-sleep-interval', 'compact-hash-check-time', 'corrupt-check-time'],
  ...['downgrade-check-time', 'snapshot-catchup-entries', 'warning-apply-duration', 'memory-mlock'],
  ...['warning-unary-request-duration', 'watch-progress-notify-interval'],
];
const oldSwitches: Readonly<Record<string, string>> = {
  'experimental-initial-corrupt-check': 'InitialCorruptCheck',
  'experimental-compact-hash-check-enabled': 'CompactHashCheck',
  'experimental-enable-lease-checkpoint': 'LeaseCheckpoint',
  'experimental-enable-lease-checkpoint-persist': 'LeaseCheckpointPersist',
  'experimental-stop-grpc-service-on-defrag': 'StopGRPCServiceOnDefrag',
  'experimental-txn-mode-write-with-shared-buffer': 'TxnModeWriteWithSharedBuffer',
};
const gates = new Set([...Object.values(oldSwitches), 'SetMemberLocalAddr']);
/** From the sources of 3.7.1. */
const gatesFrom37 = new Set(['FastLeaseKeepAlive', 'PriorityRequest']);
/** Seen on a real 3.6: the old names of 3.5 still serve, the new ones are not known before. 3.7 has only the new ones. */
const knownFrom35: Readonly<Record<string, Known>> = {
  ...Object.fromEntries(
    oldNames.map((name) => [`experimental-${name}`, { kind: 'text', since: '3.5', until: '3.6' }]),
  ),
  ...Object.fromEntries(oldNames.map((name) => [name, { kind: 'text', since: '3.6' }])),
  ...Object.fromEntries(
    Object.keys(oldSwitches).map((name) => [name, { kind: 'boolean', since: '3.3', until: '3.6' }]),
  ),
  'feature-gates': { kind: 'text', since: '3.6' },
  'max-learners': { kind: 'number', since: '3.6' },
  'log-format': { kind: 'text', since: '3.6' },
  'v2-deprecation': { kind: 'text', since: '3.5' },
  'discovery-fallback': text,
};
const knownFlags: Readonly<Record<string, Known>> = {
  name: text,
  'data-dir': text,
  'wal-dir': text,
  'listen-client-urls': text,
  'advertise-client-urls': text,
  'listen-peer-urls': text,
  'initial-advertise-peer-urls': text,
  'initial-cluster': text,
  'initial-cluster-token': text,
  'initial-cluster-state': text,
  'heartbeat-interval': number,
  'election-timeout': number,
  'snapshot-count': number,
  'max-snapshots': number,
  'max-wals': number,
  'quota-backend-bytes': number,
  'max-request-bytes': number,
  'strict-reconfig-check': boolean,
  'enable-v2': { kind: 'boolean', until: '3.5' },
  proxy: { kind: 'text', until: '3.5' },
  'force-new-cluster': boolean,
  metrics: text,
  'auth-token': text,
  'config-file': text,
  'auto-compaction-retention': { kind: 'retention' },
  'auto-compaction-mode': { kind: 'text', since: '3.3' },
  ...knownFrom35,
  debug: { kind: 'boolean', until: '3.4' },
  'log-package-levels': { kind: 'text', until: '3.4' },
  'log-output': { kind: 'text', until: '3.4' },
  'log-outputs': { kind: 'text', since: '3.4' },
  'log-level': { kind: 'text', since: '3.4' },
  logger: { kind: 'text', since: '3.4' },
};

const isKnown = (name: string, minor: string): boolean => {
  const known = knownFlags[name];
  if (known === undefined) return false;
  return compareMinors(minor, known.since ?? '0.0') >= 0 && compareMinors(minor, known.until ?? '99.0') <= 0;
};

/** Flags in the form of the Go library: `-a=1`, `--a 1`, and `--flag` alone for a boolean. */
export const flagsFrom = (words: readonly string[], minor: string): Map<string, string> => {
  const given = new Map<string, string>();
  for (let i = 0; i < words.length; i += 1) {
    const match = /^--?([^=]+)(?:=(.*))?$/s.exec(words[i] ?? '');
    const name = match?.[1];
    if (name === undefined) throw new StartRefused(2, `'${words[i]}' is not a valid flag`);
    if (!isKnown(name, minor)) throw new StartRefused(2, `flag provided but not defined: -${name}`);
    const inline = match?.[2];
    if (inline !== undefined) given.set(name, inline);
    else if (knownFlags[name]?.kind === 'boolean') given.set(name, 'true');
    else {
      i += 1;
      if (words[i] === undefined) throw new StartRefused(2, `flag needs an argument: -${name}`);
      given.set(name, words[i] as string);
    }
    checkFlag(name, given.get(name) as string, minor);
  }
  if (compareMinors(minor, '3.6') >= 0) check36(given, minor);
  return given;
};

/** Two names of one setting, invalid feature gates, removed values. */
const check36 = (given: ReadonlyMap<string, string>, minor: string): void => {
  const named = (given.get('feature-gates') ?? '').split(',').map((one) => one.split('=')[0] ?? '');
  const isGate = (gate: string): boolean => gates.has(gate) || (minor !== '3.6' && gatesFrom37.has(gate));
  const stray = named.find((gate) => gate !== '' && !isGate(gate));
  if (stray !== undefined) throw new StartRefused(2, `unrecognized feature gate: ${stray}`);
  const twice =
    oldNames.find((name) => given.has(name) && given.has(`experimental-${name}`)) ??
    Object.entries(oldSwitches).find(([name, gate]) => given.has(name) && named.includes(gate))?.[1];
  if (twice !== undefined)
    throw new StartRefused(1, `cannot set --experimental-${twice} and --${twice} at the same time`);
  if (given.get('v2-deprecation') === 'not-yet')
    throw new StartRefused(2, 'invalid value "not-yet" for flag -v2-deprecation');
  if (given.get('discovery-fallback') === 'proxy')
    throw new StartRefused(1, 'unrecognized discovery fallback "proxy"');
};

const checkFlag = (name: string, value: string, minor: string): void => {
  if (knownFlags[name]?.kind === 'number' && !/^\d+$/.test(value)) {
    throw new StartRefused(2, `invalid value "${value}" for flag -${name}: parse error`);
  }
  // spec/store#items: auto-compaction-retention is a string in 3.3 and was numeric.
  if (name === 'auto-compaction-retention' && minor === '3.2' && !/^\d+$/.test(value)) {
    throw new StartRefused(2, `invalid value "${value}" for flag -${name}: parse error`);
  }
};

type FileValue = { readonly text: string; readonly isNumber: boolean };
const fileLine = /^([A-Za-z0-9-]+)\s*:\s*(?:"([^"]*)"|'([^']*)'|([^#]*?))\s*(?:#.*)?$/;
/** The flat part of a configuration file; nested sections and unknown keys are ignored, as the servers do. */
export const configFrom = (source: string): Map<string, FileValue> => {
  const found = new Map<string, FileValue>();
  for (const line of source.split('\n')) {
    const match = fileLine.exec(line.trimEnd());
    if (match === null) continue;
    const quoted = match[2] ?? match[3];
    const plain = match[4] ?? '';
    found.set(match[1] as string, {
      text: quoted ?? plain,
      isNumber: quoted === undefined && /^-?\d+(\.\d+)?$/.test(plain),
    });
  }
  return found;
};

const unmarshalError = (kind: string, name: string, type: string): StartRefused =>
  new StartRefused(
    1,
    `error unmarshaling JSON: json: cannot unmarshal ${kind} into Go struct field configYAML.${name} of type ${type}`,
  );

/** Every version treats a quoted number as text, like any other text. */
const checkNumber = (name: string, { isNumber, text }: FileValue): void => {
  const form = name === 'quota-backend-bytes' ? /^-?\d+$/ : /^\d+$/;
  if (!isNumber || !form.test(text))
    throw unmarshalError(isNumber ? `number ${text}` : 'string', name, 'uint');
};

/** spec/store#measured-configuration: what of a configuration file each version takes. */
export const checkConfig = (config: ReadonlyMap<string, FileValue>, minor: string): Map<string, string> => {
  const name = 'auto-compaction-retention';
  const retention = config.get(name);
  if (retention !== undefined && minor === '3.2' && !retention.isNumber)
    throw unmarshalError('string', name, 'int');
  if (retention?.isNumber && minor !== '3.2') throw unmarshalError('number', name, 'string');
  const list = config.get('log-outputs')?.text ?? '';
  if (compareMinors(minor, '3.4') >= 0 && list !== '' && !list.startsWith('['))
    throw unmarshalError('string', 'log-outputs', '[]string');
  const duration = [...config].find(
    ([one, { text }]) => /-(time|interval|duration)$/.test(one) && isDuration(text),
  );
  if (compareMinors(minor, '3.6') >= 0 && duration !== undefined)
    throw unmarshalError('string', duration[0], 'time.Duration');
  if (minor === '3.4' && config.has('log-output')) throw unmarshalError('string', 'log-output', '[]string');
  const known = [...config].filter(([one]) => isKnown(one, minor));
  for (const [one, value] of known)
    if (one !== name && knownFlags[one]?.kind === 'number' && value.text !== '') checkNumber(one, value);
  return new Map(known.map(([one, { text }]) => [one, text]));
};

const isDuration = (value: string): boolean => /^(\d+(\.\d+)?(ns|us|ms|s|m|h)){1,100}$/.test(value);
/** spec/store#items: with mode periodic the retention must be a valid duration string; a whole number means hours. */
export const checkRetention = (given: ReadonlyMap<string, string>, minor: string, isFile: boolean): void => {
  // From 3.6 on a file has the flag's default mode too.
  if (minor !== '3.2') checkRetentionMode(given, isFile && compareMinors(minor, '3.6') < 0);
};

const checkRetentionMode = (given: ReadonlyMap<string, string>, isFile: boolean): void => {
  const retention = given.get('auto-compaction-retention');
  const named = given.get('auto-compaction-mode');
  if (named !== undefined && !['', 'periodic', 'revision'].includes(named))
    throw new StartRefused(1, `unknown auto-compaction-mode "${named}". See 'kv --help'.`);
  if (retention === undefined || /^\d+$/.test(retention)) return;
  // The flag's default mode is periodic; a file without a mode sets no mode.
  const mode = named ?? (isFile ? '' : 'periodic');
  if (mode === '') throw new StartRefused(1, 'unsupported compaction mode');
  if (isDuration(retention)) return;
  const flaw = /^[\d.]+$/.test(retention) ? 'missing unit in' : 'invalid';
  throw new StartRefused(1, `error parsing CompactionRetention: time: ${flaw} duration "${retention}"`);
};

const urls = (value: string): string[] => value.split(',').filter((one) => one !== '');
const clusterFrom = (value: string): Map<string, string[]> => {
  const members = new Map<string, string[]>();
  for (const pair of urls(value)) {
    const [name = '', url = ''] = pair.split('=');
    members.set(name, [...(members.get(name) ?? []), url]);
  }
  return members;
};

const checkPlainHttp = (addresses: readonly string[]): void => {
  const other = addresses.find((url) => !url.startsWith('http://'));
  if (other !== undefined)
    throw new StartRefused(1, `a simulated member speaks plain HTTP on loopback only, not ${other}`);
};

export const settingsFrom = (given: ReadonlyMap<string, string>): ServerSettings => {
  const name = given.get('name') ?? 'default';
  const peerUrls = urls(given.get('listen-peer-urls') ?? 'http://localhost:2380');
  const clientUrls = urls(given.get('listen-client-urls') ?? 'http://localhost:2379');
  const advertisedPeerUrls = urls(given.get('initial-advertise-peer-urls') ?? peerUrls.join(','));
  checkPlainHttp([...peerUrls, ...clientUrls]);
  const cluster = clusterFrom(given.get('initial-cluster') ?? `${name}=${advertisedPeerUrls.join(',')}`);
  if (!cluster.has(name))
    throw new StartRefused(1, `couldn't find local name "${name}" in the initial cluster configuration`);
  return {
    name,
    dataDir: given.get('data-dir') ?? `${name}.etcd`,
    clientUrls,
    advertisedClientUrls: urls(given.get('advertise-client-urls') ?? clientUrls.join(',')),
    peerUrls,
    advertisedPeerUrls,
    cluster,
    token: given.get('initial-cluster-token') ?? 'etcd-cluster',
    joins: given.get('initial-cluster-state') === 'existing',
    isStrict: given.get('strict-reconfig-check') !== 'false',
    heartbeatMs: Number(given.get('heartbeat-interval') ?? 100),
    electionMs: Number(given.get('election-timeout') ?? 1000),
    quotaBytes: Number(given.get('quota-backend-bytes') ?? 0) || 2 * 1024 ** 3,
    // spec/store#limits: default 1.5 MiB, configurable.
    maxRequestBytes: Number(given.get('max-request-bytes') ?? 1.5 * 1024 ** 2),
    v2Deprecation: given.get('v2-deprecation') ?? '',
  };
};
