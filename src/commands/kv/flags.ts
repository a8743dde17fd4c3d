import { nextMinor, versionRows, type VersionTable } from '../../api-specs/etcd/versions.ts';
import type { Context } from '../../api/context.ts';
import { bool, int, list, oneOf, req, str } from '../../core/field.ts';
import type { Argument, Flag, Flags, ValuesOf } from '../../core/flag.ts';
import { acceptable } from '../../kv/upgrade/guards/guard.ts';
import { noticeShapes } from '../../kv/upgrade/window/notify.ts';

/** Which cluster is meant, and how to be let in. */
export const clusterFlags = {
  cluster: {
    effects: ['reads', 'runs', 'sends'],
    field: str(undefined, { min: 1 }),
    summary: 'Cluster file (default: OPSCTL_KV_CLUSTER, else the simulated cluster that runs)',
    value: 'file',
    complete: 'file',
    isRepeated: true,
  },
} as const satisfies Flags;
/** Members by their addresses, and how to be let in. */
export const addressFlags = {
  endpoints: {
    effects: ['sends'],
    field: str(undefined, { min: 1 }),
    summary: 'Members to talk to, instead of a cluster file: host:port or URL, comma-separated',
    value: 'list',
    isRepeated: true,
  },
  user: {
    effects: ['sends'],
    field: str(undefined, { min: 1 }),
    summary: 'User of the store; the password comes from --password-file or OPSCTL_KV_PASSWORD',
    value: 'name',
  },
  'password-file': {
    effects: ['reads', 'sends'],
    field: str(undefined, { min: 1 }),
    summary: 'File with the password of --user',
    value: 'file',
    complete: 'file',
  },
  cacert: {
    effects: ['reads', 'sends'],
    field: str(undefined, { min: 1 }),
    summary: "PEM file with the authorities of the members' certificates",
    value: 'file',
    complete: 'file',
  },
  cert: {
    effects: ['reads', 'sends'],
    field: str(undefined, { min: 1 }),
    summary: 'PEM file with a client certificate',
    value: 'file',
    complete: 'file',
  },
  key: {
    effects: ['reads', 'sends'],
    field: str(undefined, { min: 1 }),
    summary: 'PEM file with the key of --cert',
    value: 'file',
    complete: 'file',
  },
  'server-name': {
    effects: ['sends'],
    field: str(255, { min: 1 }),
    summary: "Name in the members' certificates, when it is not the host of their URL",
    value: 'name',
  },
} as const satisfies Flags;
export const endpointFlags = { ...clusterFlags, ...addressFlags } as const satisfies Flags;
export type EndpointValues = ValuesOf<typeof endpointFlags>;

export const versionsFlag = {
  'versions-file': {
    effects: ['reads'],
    field: str(4096, { min: 1 }),
    summary: 'File with newer data of single versions (OPSCTL_KV_VERSIONS_FILE); see kv versions --as-file',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;
/** The file that the flag or the setting names; undefined: what is built in. */
export const givenVersions = async (
  { host, settings }: Context,
  flag: string | undefined,
): Promise<VersionTable | undefined> => {
  const setting = settings.get('kv.versions_file');
  const path = flag ?? setting?.value;
  if (path === undefined) return undefined;
  const { readVersions } = await import('../../kv/upgrade/version-file.ts');
  return readVersions(host, path, flag === undefined ? (setting?.origin ?? '') : '--versions-file');
};

const targets = versionRows.flatMap(({ minor }) => nextMinor(minor) ?? []);
export const planFlags = {
  ...clusterFlags,
  to: {
    effects: [],
    field: str(16, { pattern: '^\\d+\\.\\d+$' }),
    summary: `Version to go to (${targets.join(', ')}) (default: the next one)`,
    value: 'minor',
    suggest: targets,
  },
  'copy-data': {
    effects: [],
    field: bool(),
    summary:
      'Copy each data directory while its member is stopped (snapshots hold only v3 data; required with v2 data)',
  },
  'hold-last': {
    effects: [],
    field: bool(),
    summary: 'Stop before the last member: until then everything can go back',
  },
  'hold-after': {
    field: int({ min: 1, max: 99 }),
    summary: 'Stop after so many members, for hours or days if need be; kv resume goes on',
    value: 'n',
  },
  'stable-for': {
    field: int({ min: 0, max: 3600 }),
    summary: 'Seconds a member must stay good before the next one (default 1)',
    value: 'seconds',
  },
  'stable-before-last': {
    field: int({ min: 0, max: 86_400 }),
    summary:
      'Seconds all upgraded members must have been good together before the last old one is stopped (default 10)',
    value: 'seconds',
  },
  accept: {
    effects: [],
    field: list(str()),
    repeat: true,
    summary: "Take a guard's refusal as a warning: its name, as `kv check` prints it",
    value: 'guard',
    suggest: acceptable,
  },
  ...versionsFlag,
} as const satisfies Flags;
export type PlanValues = ValuesOf<typeof planFlags>;

/** Who hears of a run that nobody watches. */
export const outsideFlags = {
  notify: {
    effects: ['sends'],
    field: str(4096, { min: 1, pattern: '^https?://' }),
    summary:
      'Webhook for begin, members, pauses and end (default: OPSCTL_NOTIFY_URL, which keeps it out of the process list); signed with OPSCTL_NOTIFY_SECRET',
    value: 'url',
  },
  'notify-format': {
    field: oneOf(...noticeShapes),
    summary: 'Shape of the body (default: slack for hooks.slack.com, else json)',
    value: 'json|slack',
  },
  'metrics-file': {
    effects: ['writes'],
    field: str(4096, { min: 1 }),
    summary:
      'Keep progress and outcome there as OpenMetrics, for the textfile collector of the node exporter',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;

export const confirmFlags = {
  'confirm-each': { field: bool(), summary: 'Ask before each member; "no" holds the run there' },
} as const satisfies Flags;
/** For runs that nobody watches, or that somebody watches closely. */
export const windowFlags = {
  ...confirmFlags,
  until: {
    field: str(64, { min: 1 }),
    summary:
      'Start no member that may not be finished by then: 04:00, 04:00 Europe/Berlin, 04:00Z; the run holds',
    value: 'time',
  },
  'pause-while-command': {
    effects: ['runs'],
    field: list(str(4096, { min: 1 })),
    repeat: true,
    summary: 'Before each member, pause while this shell command exits 0 (users are affected); 1 is no',
    value: 'command',
  },
  'pause-while-query': {
    effects: ['sends'],
    field: list(str(8192, { min: 1 })),
    repeat: true,
    summary: 'Before each member, pause while this PromQL query gives a sample, as an alert fires',
    value: 'promql',
  },
  prometheus: {
    effects: ['sends'],
    field: str(2048, { min: 1, pattern: '^https?://' }),
    summary: 'Base URL for --pause-while-query; a bearer token comes from OPSCTL_PROMETHEUS_TOKEN',
    value: 'url',
  },
  'pause-at-most': {
    field: str(32, { min: 1 }),
    summary: 'Pause so long before one member, then hold (default 1h)',
    value: 'duration',
  },
} as const satisfies Flags;
export type WindowValues = ValuesOf<typeof windowFlags>;

/** Of a rollback, which has no window: once begun it goes to its end. */
export const rollbackFlags = {
  ...confirmFlags,
  ...outsideFlags,
  canary: {
    field: bool(),
    negated: true,
    summary: 'Write nothing to the store to measure what its clients see',
  },
  'canary-rate': {
    field: int({ min: 1, max: 200 }),
    summary:
      'Canary writes a second while a member is replaced (default 50); 10 while it has to stay good, 1 otherwise',
    value: 'n',
  },
  'kill-after-grace': {
    field: bool(),
    summary: 'End a member with SIGKILL when it ignores the stop for the whole grace',
  },
} as const satisfies Flags;
export const runFlags = { ...rollbackFlags, ...windowFlags } as const satisfies Flags;
export type RunValues = ValuesOf<typeof runFlags> & CrossingValues;
export const crossingFlags = {
  'accept-point-of-no-return': {
    field: bool(),
    summary: 'Replace the last member of the old version without a question; --yes alone holds before it',
  },
} as const satisfies Flags;
export type CrossingValues = ValuesOf<typeof crossingFlags>;

export const stepFlags = {
  'confirm-each': {
    ...confirmFlags['confirm-each'],
    summary: 'Ask before each step that changes something; "no" stops there, the same command goes on',
  },
} as const satisfies Flags;
export const operationFlags = {
  ...endpointFlags,
  ...stepFlags,
  canary: runFlags.canary,
} as const satisfies Flags;

export const memberArgument = {
  name: 'member',
  field: req(str(undefined, { min: 1 })),
  summary: 'Name or hexadecimal id of the member',
  complete: 'kv-member',
} as const satisfies Argument;
export const peerUrlsFlag = {
  effects: [],
  field: req(str(undefined, { min: 1 })),
  required: true,
  summary: 'URLs at which the others call it, comma-separated',
  value: 'urls',
} as const satisfies Flag;

const maxInt32 = 2 ** 31 - 1;
/** spec/store#limits: client send size 2 MiB, receive size the largest 32-bit integer. */
export const sendFlag = {
  field: int({ min: 1, max: maxInt32 }),
  summary: 'Largest request to send (default: 2 MiB)',
  value: 'bytes',
} as const satisfies Flag;
export const receiveFlag = {
  field: int({ min: 1, max: maxInt32 }),
  summary: 'Largest answer to take (default 2147483647)',
  value: 'bytes',
} as const satisfies Flag;
