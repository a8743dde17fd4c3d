import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { int } from '../../core/field.ts';
import { type Result, rowsResult } from '../../core/result.ts';
import type { Endpoint } from '../../kv/operations/endpoints.ts';
import { endpointFlags } from './flags.ts';
import { openCluster, type Opened, timeoutsOf } from './prepare.ts';

export const endpointStores = async (
  context: Context,
  { cluster, access, typed }: Opened,
): Promise<Endpoint[]> => {
  const { openStore } = await import('../../kv/client/etcd-client.ts');
  const timeouts = await timeoutsOf(context);
  return cluster.members.map(({ client_url }, i) => ({
    endpoint: typed[i] ?? client_url,
    store: openStore(context.host, {
      url: client_url,
      tls: access.tls,
      user: access.user,
      ...timeouts,
      signal: context.signal,
    }),
  }));
};

export const endpointHash = defineCommand({
  path: ['kv', 'endpoint', 'hashkv'],
  summary: 'Compare the keyspace hashes of all endpoints at one revision',
  about:
    'Requests the hash of every endpoint at the same revision. Requires version 3.3 or later. A member serves no other requests while it hashes. Without --rev, then compares the current revisions of the endpoints of one cluster, which show a difference in newer changes. Exits with code 20 if an endpoint does not respond or returns no revision, or if the hashes or revisions differ.',
  flags: {
    ...endpointFlags,
    rev: {
      field: int({ min: 1 }),
      summary: 'Revision up to which keys are hashed (default: the newest that all endpoints have)',
      value: 'revision',
    },
  },
  examples: [
    {
      line: 'opsctl kv endpoint hashkv --endpoints localhost:2379,localhost:22379',
      says: 'Verify that two members contain the same data',
    },
    {
      line: 'opsctl kv endpoint hashkv --cluster cluster.yaml --rev 1200 -o json',
      says: 'Show the revision, compaction and version of each endpoint',
    },
  ],
  run: async (context, values) => {
    const { hashedAt, hashVerdict, revisionVerdict } = await import('../../kv/operations/endpoints.ts');
    const asked = await endpointStores(context, await openCluster(context, values));
    const rows = await hashedAt(asked, values.rev);
    const { isSame, warning } = hashVerdict(rows);
    const failed = new Set(rows.flatMap((row) => ('error' in row ? [row.endpoint] : [])));
    if (warning !== undefined) context.log.warn(warning);
    // With --rev, the operator compares the data of that revision only.
    const answering = asked.filter(({ endpoint }) => !failed.has(endpoint));
    const revisions = values.rev === undefined ? await revisionVerdict(answering) : { isSame: true };
    if (revisions.warning !== undefined && isSame) context.log.warn(revisions.warning);
    return {
      ...rowsResult(rows, { columns: ['endpoint', 'hash', 'error'], name: 'endpoint' }),
      exit: () => (isSame && revisions.isSame ? 'done' : 'no'),
    } as Result;
  },
});

export const endpointHealth = defineCommand({
  path: ['kv', 'endpoint', 'health'],
  summary: 'Commit a proposal through every endpoint',
  about:
    'Prints one line per endpoint, or the format that -o selects. Exits with code 20 if an endpoint is unhealthy.',
  flags: endpointFlags,
  examples: [
    {
      line: 'opsctl kv endpoint health --endpoints localhost:2379,localhost:22379',
      says: 'Check that a member commits a proposal',
    },
  ],
  run: async (context, values) => {
    const { proposalText, propose } = await import('../../kv/operations/endpoints.ts');
    const asked = await endpointStores(context, await openCluster(context, values));
    const rows = await Promise.all(asked.map((endpoint) => propose(context.host, endpoint)));
    const exit = () => (rows.every((row) => row.health) ? ('done' as const) : ('no' as const));
    if (context.isFormatGiven === true)
      return {
        kind: 'rows',
        rows,
        view: { columns: ['endpoint', 'health', 'took', 'error'], name: 'endpoint' },
        exit,
      };
    if (exit() === 'no') context.log.warn('unhealthy cluster');
    return {
      kind: 'raw',
      chunks: [`${proposalText(rows)}\n`],
      ...(exit() === 'no' ? { exit: 'no' as const } : {}),
    };
  },
});

/** Prints a row for every endpoint. The exit code is 20 if an endpoint is unhealthy. */
const judgeHealth = (
  rows: readonly { readonly [key: string]: unknown }[],
  isGood: (row: { readonly [key: string]: unknown }) => boolean,
  columns: readonly string[],
): Result => ({
  kind: 'rows',
  rows,
  view: { columns, name: 'endpoint' },
  exit: () => (rows.every(isGood) ? 'done' : 'no'),
});

export const endpointStatus = defineCommand({
  path: ['kv', 'endpoint', 'status'],
  summary: 'Show version, size, leader and raft index of every endpoint',
  flags: endpointFlags,
  examples: [{ line: 'opsctl kv endpoint status --cluster cluster.yaml', says: 'List one row per member' }],
  run: async (context, values) => {
    const { queryStatus, statusColumns } = await import('../../kv/operations/endpoints.ts');
    const asked = await endpointStores(context, await openCluster(context, values));
    const rows = await Promise.all(asked.map(queryStatus));
    return judgeHealth(rows, (row) => row['error'] === undefined, statusColumns(rows));
  },
});

export const health = defineCommand({
  path: ['kv', 'health'],
  summary: 'Query /health of every member',
  flags: endpointFlags,
  examples: [
    {
      line: 'opsctl kv health --endpoints 127.0.0.1:2379',
      says: 'Check in a script: exit code 20 means that a member is unhealthy',
    },
  ],
  run: async (context, values) => {
    const { queryHealth } = await import('../../kv/operations/endpoints.ts');
    const asked = await endpointStores(context, await openCluster(context, values));
    const rows = await Promise.all(asked.map(queryHealth));
    return judgeHealth(rows, (row) => row['health'] === 'true', ['endpoint', 'health', 'status', 'reason']);
  },
});

export const version = defineCommand({
  path: ['kv', 'version'],
  summary: 'Query /version of every member',
  flags: endpointFlags,
  examples: [
    {
      line: 'opsctl kv version --cluster cluster.yaml',
      says: 'Show the server and cluster version of each member',
    },
  ],
  run: async (context, values) => {
    const { queryVersions } = await import('../../kv/operations/endpoints.ts');
    const rows = await queryVersions(await endpointStores(context, await openCluster(context, values)));
    return {
      ...rowsResult(rows, { columns: ['endpoint', 'kvserver', 'kvcluster', 'error'], name: 'endpoint' }),
      exit: () => (rows.some((row) => 'error' in row) ? 'partial' : 'done'),
    } as Result;
  },
});
