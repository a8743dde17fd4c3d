import type { Flags, ValuesOf } from '../../cli/command.ts';
import { bool, int, oneOf, str } from '../../core/field.ts';
import { dirFlag, memberFlag } from './directory.ts';
import { DEFAULT, versions } from './start-versions.ts';

export const startFlags = {
  dir: dirFlag,
  members: { field: int({ min: 1, max: 9 }), summary: 'How many members (default 3)', value: 'n' },
  version: {
    field: str(undefined, { pattern: '^3\\.[2-6]\\.\\d+$' }),
    summary: `Version of the members and of the old binary (default ${DEFAULT.version})`,
    value: '3.x.y',
    suggest: versions,
  },
  'new-version': {
    field: str(undefined, { pattern: '^3\\.[2-6]\\.\\d+$' }),
    summary: `Version of the new binary (default ${DEFAULT.newVersion})`,
    value: '3.x.y',
    suggest: versions,
  },
  'v2-size': {
    field: int({ min: 0 }),
    summary: 'Bytes of v2 data that the members claim to hold',
    value: 'bytes',
  },
  auth: { field: bool(), summary: 'Switch authentication on (user root, password in a file)' },
  quota: {
    field: int({ min: 1 }),
    summary: 'Quota of the database; a write past it raises NOSPACE',
    value: 'bytes',
  },
  'config-files': {
    effects: [],
    field: bool(),
    summary: 'Members read configuration files of the old version instead of flags',
  },
  'field-words': {
    field: oneOf('kv', 'etcd'),
    summary: 'Word in the fields of /version and in logs',
    value: 'kv|etcd',
  },
  'monitor-ms': {
    field: int({ min: 50, max: 60_000 }),
    summary: "How often the leader looks at the members' versions (default 5000, with 3.6 4000)",
    value: 'ms',
  },
  'heartbeat-ms': {
    field: int({ min: 10, max: 10_000 }),
    summary: 'Time between heartbeats (default 100)',
    value: 'ms',
  },
  'election-ms': {
    field: int({ min: 50, max: 50_000 }),
    summary: 'Time without a leader before an election (default 1000)',
    value: 'ms',
  },
  keys: {
    effects: ['reads'],
    field: str(),
    summary: 'JSON file with `revision` and `keys` to begin with',
    value: 'file',
    complete: 'file',
    hidden: true,
  },
  replace: { field: bool(), summary: 'Remove a stopped rehearsal cluster from the directory first' },
  again: { field: bool(), summary: 'Start the stopped members of the directory again, with their data' },
  member: { ...memberFlag, summary: 'Start only this stopped member of the directory again' },
  binary: {
    field: oneOf('old', 'new'),
    summary: 'Binary for --again and --member (default old)',
    value: 'old|new',
  },
  wait: {
    field: bool(),
    negated: true,
    summary: 'Do not wait until the members are healthy (--again, --member)',
  },
} as const satisfies Flags;

export type StartValues = ValuesOf<typeof startFlags>;
