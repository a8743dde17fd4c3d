import type { Flags, ValuesOf } from '../../cli/command.ts';
import { str } from '../../core/field.ts';

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
