/**
 * How each version speaks, as data (spec/store#measured-versions). Written apart from the client's rows on purpose: a mistake in one table
 * must not be repeated by the other side.
 */
export type Form = {
  readonly minor: string;
  /** Gateway prefixes that answer. */
  readonly prefixes: readonly string[];
  /** spec/program#choices: the simulated 3.3 answers 308 for the old prefix. */
  readonly redirects: Readonly<Record<string, string>>;
  health(isHealthy: boolean, reason: string): string;
  /** An alarm NOSPACE makes the member unhealthy. */
  readonly healthSeesAlarms: boolean;
  readonly logsHealth: boolean;
  readonly errorBody: 'error+code' | 'error+message+code' | 'code+message';
  /** `", "` between the fields of an answer. */
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
  /** The second gateway: other HTTP codes, JSON also for paths that it does not know, tokens with and without `Bearer`. */
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
  {
    ...base,
    minor: '3.5',
    prefixes: ['/v3', '/v3beta'],
    health: (isHealthy, reason) => `{"health":"${isHealthy}","reason":"${isHealthy ? '' : reason}"}`,
    errorBody: 'code+message',
    isSpaced: true,
    takesNothing: true,
    logLines: 'json',
    has: since35,
  },
  {
    ...base,
    minor: '3.6',
    prefixes: ['/v3', '/v3beta'],
    health: (isHealthy, reason) => `{"health":"${isHealthy}","reason":"${isHealthy ? '' : reason}"}`,
    errorBody: 'code+message',
    isSpaced: true,
    takesNothing: true,
    logLines: 'json',
    isGateway2: true,
    has: { ...since35, downgrade: true },
  },
];

export const simulatedMinors: readonly string[] = forms.map(({ minor }) => minor);

export const minorOf = (version: string): string => version.split('.').slice(0, 2).join('.');
/** Negative, 0 or positive. */
export const compareMinors = (a: string, b: string): number => {
  const [majorA = 0, minorA = 0] = a.split('.').map(Number);
  const [majorB = 0, minorB = 0] = b.split('.').map(Number);
  return majorA - majorB || minorA - minorB;
};
export const formOf = (version: string): Form | undefined =>
  forms.find((form) => form.minor === minorOf(version));
const latest = forms[forms.length - 1] as Form;
/** Every capability at once. */
export const everyForm: Form = {
  ...latest,
  has: Object.fromEntries(Object.keys(latest.has).map((name) => [name, true])) as Form['has'],
};
