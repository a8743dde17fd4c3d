import { AppError } from '../../core/problem.ts';
import { rowsResult } from '../../core/result.ts';
import type { Result } from '../../core/result.ts';
import type { Store } from '../../etcd-client/etcd-client.ts';
import { defineCommand, type Context } from '../../cli/command.ts';
import { timeoutOf } from './ask.ts';
import { endpointFlags, openCluster } from './cluster.ts';
import type { Opened } from './cluster.ts';
import { goDuration } from './go-duration.ts';

export type Named = { readonly endpoint: string; readonly store: Store };
export const stores = async (context: Context, { cluster, access, typed }: Opened): Promise<Named[]> => {
  const { openStore } = await import('../../etcd-client/etcd-client.ts');
  const timeoutMs = await timeoutOf(context);
  return cluster.members.map(({ client_url }, i) => ({
    endpoint: typed[i] ?? client_url,
    store: openStore(context.host, {
      url: client_url,
      tls: access.tls,
      user: access.user,
      timeoutMs,
      signal: context.signal,
    }),
  }));
};
/** The message without the address in front of it: the line begins with the endpoint already. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message.replace(/^[^ ]+:\d+: /, '') : String(error);

/** Rows of every endpoint; the exit code says no when one of them is not good. */
const judged = (
  rows: readonly { readonly [key: string]: unknown }[],
  isGood: (row: { readonly [key: string]: unknown }) => boolean,
  columns: readonly string[],
): Result => ({
  kind: 'rows',
  rows,
  view: { columns, name: 'endpoint' },
  exit: () => (rows.every(isGood) ? 'done' : 'no'),
});

export const health = defineCommand({
  path: ['kv', 'health'],
  summary: 'Ask every member for its /health',
  flags: endpointFlags,
  examples: [
    {
      line: 'opsctl kv health --endpoints 127.0.0.1:2379',
      says: 'exit code 20 when a member is not healthy',
    },
  ],
  run: async (context, values) => {
    const asked = await stores(context, await openCluster(context, values));
    const rows = await Promise.all(
      asked.map(async ({ endpoint, store }) => {
        try {
          const { is_healthy, reason, status } = await store.health();
          return {
            endpoint,
            health: is_healthy ? 'true' : 'false',
            status,
            ...(reason === undefined ? {} : { reason }),
          };
        } catch (error) {
          return { endpoint, health: 'false', reason: reasonOf(error) };
        }
      }),
    );
    return judged(rows, (row) => row['health'] === 'true', ['endpoint', 'health', 'status', 'reason']);
  },
});

export const version = defineCommand({
  path: ['kv', 'version'],
  summary: 'Ask every member for its /version',
  flags: endpointFlags,
  examples: [
    { line: 'opsctl kv version --cluster cluster.yaml', says: 'server and cluster version of each member' },
  ],
  run: async (context, values) => {
    const asked = await stores(context, await openCluster(context, values));
    const rows = await Promise.all(
      asked.map(async ({ endpoint, store }) => {
        try {
          const { server, cluster } = await store.versions();
          return { endpoint, kvserver: server, kvcluster: cluster };
        } catch (error) {
          return { endpoint, error: reasonOf(error) };
        }
      }),
    );
    if (rows.every((row) => 'error' in row))
      throw new AppError(
        'network',
        `no member answers: ${rows.map((row) => `${row.endpoint}: ${row.error}`).join('; ')}`,
        {
          code: 'UNAVAILABLE',
          tryThis: ['opsctl kv status'],
        },
      );
    return {
      ...rowsResult(rows, { columns: ['endpoint', 'kvserver', 'kvcluster', 'error'], name: 'endpoint' }),
      exit: () => (rows.some((row) => 'error' in row) ? 'partial' : 'done'),
    } as Result;
  },
});

type HealthRow = {
  readonly endpoint: string;
  readonly health: boolean;
  readonly took: string;
  readonly error?: string;
};
/** A proposal through the member; without a user and with authentication on, what /health says (spec/store#measured-answers: else a false alarm). */
const propose = async (context: Context, { endpoint, store }: Named): Promise<HealthRow> => {
  let began = context.host.elapsed();
  const took = (): string => goDuration(context.host.elapsed() - began);
  try {
    // Finding out how the member is spoken to, and connecting, is no part of the proposal.
    await store.row();
    began = context.host.elapsed();
    await store.range('health');
    return { endpoint, health: true, took: took() };
  } catch (error) {
    const isAuth = error instanceof AppError && error.category === 'auth';
    const isHealthy =
      isAuth &&
      (await store.health().then(
        ({ is_healthy }) => is_healthy,
        () => false,
      ));
    return isHealthy
      ? { endpoint, health: true, took: took() }
      : { endpoint, health: false, took: took(), error: reasonOf(error) };
  }
};

export const endpointHealth = defineCommand({
  path: ['kv', 'endpoint', 'health'],
  summary: 'Commit a proposal through every endpoint',
  about: 'One line for each endpoint; another format with -o. Exit code 20 when one of them is unhealthy.',
  flags: endpointFlags,
  examples: [
    {
      line: 'opsctl kv endpoint health --endpoints localhost:2379,localhost:22379',
      says: 'localhost:2379 is healthy: successfully committed proposal: took = 2.1ms',
    },
  ],
  run: async (context, values) => {
    const asked = await stores(context, await openCluster(context, values));
    const rows = await Promise.all(asked.map((named) => propose(context, named)));
    const exit = () => (rows.every((row) => row.health) ? ('done' as const) : ('no' as const));
    if (context.isFormatGiven === true)
      return {
        kind: 'rows',
        rows,
        view: { columns: ['endpoint', 'health', 'took', 'error'], name: 'endpoint' },
        exit,
      };
    // spec/store#interfaces: `<host:port> is healthy: successfully committed proposal: took = <duration>`
    const lines = rows.map(({ endpoint, health: isGood, took, error }) =>
      isGood
        ? `${endpoint} is healthy: successfully committed proposal: took = ${took}`
        : `${endpoint} is unhealthy: failed to commit proposal: ${error}`,
    );
    if (exit() === 'no') context.log.warn('unhealthy cluster');
    return {
      kind: 'raw',
      chunks: [`${lines.join('\n')}\n`],
      ...(exit() === 'no' ? { exit: 'no' as const } : {}),
    };
  },
});

type Row = { readonly [key: string]: unknown };
/** What the tools of the store show; what a version does not tell, and an error that nobody has, takes no room. */
const statusColumns = (rows: readonly Row[]): string[] => {
  const isTold = (key: string): boolean =>
    rows.some((row) => row[key] !== undefined && (!Array.isArray(row[key]) || row[key].length > 0));
  const some = (...keys: string[]): string[] => keys.filter(isTold);
  return [
    ...[
      'endpoint',
      'id',
      'version',
      'db_size_bytes',
      'is_leader',
      ...some('is_learner'),
      'raft_term',
      'raft_index',
    ],
    ...some('applied_index', 'errors', 'error'),
  ];
};

export const endpointStatus = defineCommand({
  path: ['kv', 'endpoint', 'status'],
  summary: 'Show version, size, leader and raft position of every endpoint',
  flags: endpointFlags,
  examples: [{ line: 'opsctl kv endpoint status --cluster cluster.yaml', says: 'one row for each member' }],
  run: async (context, values) => {
    const { hexId } = await import('../../etcd-client/etcd-client.ts');
    const asked = await stores(context, await openCluster(context, values));
    const rows = await Promise.all(
      asked.map(async ({ endpoint, store }) => {
        try {
          const status = await store.status();
          const { server } = await store.versions();
          const { member_id, leader_id, cluster_id, ...rest } = status;
          return {
            endpoint,
            id: hexId(member_id),
            cluster_id: hexId(cluster_id),
            is_leader: leader_id === member_id,
            leader: leader_id === undefined ? '' : hexId(leader_id),
            ...rest,
            version: server,
          };
        } catch (error) {
          return { endpoint, error: reasonOf(error) };
        }
      }),
    );
    return judged(rows, (row) => row['error'] === undefined, statusColumns(rows));
  },
});
