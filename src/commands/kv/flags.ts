import { nextMinor, versionRows, type VersionTable } from '../../api-specs/etcd/versions.ts';
import type { Context } from '../../api/context.ts';
import { bool, int, list, oneOf, req, str } from '../../core/field.ts';
import type { Argument, Flag, Flags, ValuesOf } from '../../core/flag.ts';
import { acceptable } from '../../kv/upgrade/guards/guard.ts';

/** Which cluster is meant, and how to be let in. */
export const clusterFlags = {
  cluster: {
    effects: ['reads', 'runs', 'sends'],
    field: str(undefined, { min: 1 }),
    summary: 'Cluster file (default: OPSCTL_KV_CLUSTER, or the running simulated cluster)',
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
    summary: 'Members to connect to, instead of a cluster file: host:port or URL, comma-separated',
    value: 'list',
    isRepeated: true,
  },
  user: {
    effects: ['sends'],
    field: str(undefined, { min: 1 }),
    summary: 'User name for the cluster; the password comes from --password-file or OPSCTL_KV_PASSWORD',
    value: 'name',
  },
  'password-file': {
    effects: ['reads', 'sends'],
    field: str(undefined, { min: 1 }),
    summary: 'File that contains the password of --user',
    value: 'file',
    complete: 'file',
  },
  cacert: {
    effects: ['reads', 'sends'],
    field: str(undefined, { min: 1 }),
    summary: 'PEM file with the CA certificates of the members',
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
    summary: "Server name in the members' certificates, if it differs from the host of the URL",
    value: 'name',
  },
} as const satisfies Flags;
export const endpointFlags = { ...clusterFlags, ...addressFlags } as const satisfies Flags;
export type EndpointValues = ValuesOf<typeof endpointFlags>;

export const versionsFlag = {
  'versions-file': {
    effects: ['reads'],
    field: str(4096, { min: 1 }),
    summary: 'File with newer version data (OPSCTL_KV_VERSIONS_FILE); see kv versions --as-file',
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
  const { readVersions } = await import('../../kv/upgrade/cluster/yaml-file.ts');
  return readVersions(host, path, flag === undefined ? (setting?.origin ?? '') : '--versions-file');
};

const targets = versionRows.flatMap(({ minor }) => nextMinor(minor) ?? []);
/** A minor version that opsctl upgrades from or to. */
export const minorField = str(16, { enum: versionRows.map(({ minor }) => minor) });
export const planFlags = {
  ...clusterFlags,
  to: {
    effects: [],
    field: minorField,
    summary: `Target version (${targets.join(', ')}) (default: the next version)`,
    value: 'minor',
    suggest: targets,
  },
  soak: {
    effects: [],
    field: str(32, { min: 1 }),
    summary:
      'With --to over several versions: time between two versions (default: timeouts.soak_seconds of the cluster file, or 10m)',
    value: 'duration',
  },
  'copy-data': {
    effects: [],
    field: bool(),
    summary:
      'Copy each data directory while its member is stopped (snapshots contain only v3 data; required with v2 data)',
  },
  'hold-last': {
    effects: [],
    field: bool(),
    summary: 'Hold before the last member, while a rollback is still possible',
  },
  'hold-after': {
    field: int({ min: 1, max: 99 }),
    summary: 'Hold after N members; `kv resume` continues the run',
    value: 'n',
  },
  'stable-for': {
    field: int({ min: 0, max: 3600 }),
    summary: 'Seconds that a member must stay healthy before the next member is stopped (default 1)',
    value: 'seconds',
  },
  'stable-before-last': {
    field: int({ min: 0, max: 86_400 }),
    summary:
      'Seconds that all upgraded members must stay healthy before the last old member is stopped (default 10)',
    value: 'seconds',
  },
  accept: {
    effects: [],
    field: list(str()),
    repeat: true,
    summary: 'Downgrade a failed check to a warning; use the name that `kv check` prints',
    value: 'guard',
    suggest: acceptable,
  },
  ...versionsFlag,
} as const satisfies Flags;
export type PlanValues = ValuesOf<typeof planFlags>;

/** Notifications for unattended runs. */
const outsideFlags = {
  notify: {
    effects: ['sends'],
    field: str(4096, { min: 1, pattern: '^https?://' }),
    summary:
      'Webhook for the start, members, pauses and the end of a run (default: OPSCTL_NOTIFY_URL, which does not appear in the process list); signed with OPSCTL_NOTIFY_SECRET; plain HTTP needs OPSCTL_PLAIN_HTTP_HOSTS',
    value: 'url',
  },
  'notify-format': {
    field: oneOf('json', 'slack'),
    summary: 'Format of the body (default: slack for hooks.slack.com, otherwise json)',
    value: 'json|slack',
  },
  'metrics-file': {
    effects: ['writes'],
    field: str(4096, { min: 1 }),
    summary:
      'Write progress and result to this file as OpenMetrics, for the textfile collector of node_exporter',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;

const confirmFlags = {
  'confirm-each': {
    field: bool(),
    summary: 'Prompt before each member; "no" holds the run before that member',
  },
} as const satisfies Flags;
/** Options for unattended runs, or for runs that an operator watches closely. */
export const windowFlags = {
  ...confirmFlags,
  until: {
    field: str(64, { min: 1 }),
    summary:
      'Hold the run before a member that may not finish by this time: 04:00, 04:00 Europe/Berlin, 04:00Z',
    value: 'time',
  },
  'pause-while-command': {
    effects: ['runs'],
    field: list(str(4096, { min: 1 })),
    repeat: true,
    summary:
      'Before each member, pause while this shell command exits with code 0 (users are affected); code 1 continues',
    value: 'command',
  },
  'pause-while-query': {
    effects: ['sends'],
    field: list(str(8192, { min: 1 })),
    repeat: true,
    summary: 'Before each member, pause while this PromQL query returns a sample, as for an alert',
    value: 'promql',
  },
  prometheus: {
    effects: ['sends'],
    field: str(2048, { min: 1, pattern: '^https?://' }),
    summary: 'Base URL for --pause-while-query; OPSCTL_PROMETHEUS_TOKEN contains a bearer token',
    value: 'url',
  },
  'pause-at-most': {
    field: str(32, { min: 1 }),
    summary: 'Maximum pause before one member; then the run holds (default 1h)',
    value: 'duration',
  },
} as const satisfies Flags;
export type WindowValues = ValuesOf<typeof windowFlags>;

/** Options of a rollback, which has no window: after the start it runs to completion. */
export const rollbackFlags = {
  ...confirmFlags,
  ...outsideFlags,
  canary: {
    field: bool(),
    negated: true,
    summary: 'Disable canary writes',
  },
  'canary-rate': {
    field: int({ min: 1, max: 200 }),
    summary:
      'Canary writes per second while a member is replaced (default 50); 10 during the soak time, 1 otherwise',
    value: 'n',
  },
  'kill-after-grace': {
    field: bool(),
    summary: 'Send SIGKILL to a member that does not exit within the grace period',
  },
} as const satisfies Flags;
export const runFlags = { ...rollbackFlags, ...windowFlags } as const satisfies Flags;
export type RunValues = ValuesOf<typeof runFlags> & CrossingValues;
export const crossingFlags = {
  'accept-point-of-no-return': {
    field: bool(),
    summary: 'Replace the last old member without a prompt; --yes alone holds before it',
  },
} as const satisfies Flags;
export type CrossingValues = ValuesOf<typeof crossingFlags>;

export const stepFlags = {
  'confirm-each': {
    ...confirmFlags['confirm-each'],
    summary:
      'Prompt before each step that changes something; "no" stops there, and the same command continues',
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
  summary: 'Name or hexadecimal ID of the member',
  complete: 'kv-member',
} as const satisfies Argument;
export const peerUrlsFlag = {
  effects: [],
  field: req(str(undefined, { min: 1 })),
  required: true,
  summary: 'Peer URLs of the member, comma-separated',
  value: 'urls',
} as const satisfies Flag;

const maxInt32 = 2 ** 31 - 1;
/** spec/store#limits: client send size 2 MiB, receive size the largest 32-bit integer. */
export const sendFlag = {
  field: int({ min: 1, max: maxInt32 }),
  summary: 'Maximum request size (default: 2 MiB)',
  value: 'bytes',
} as const satisfies Flag;
export const receiveFlag = {
  field: int({ min: 1, max: maxInt32 }),
  summary: 'Maximum response size (default 2147483647)',
  value: 'bytes',
} as const satisfies Flag;
