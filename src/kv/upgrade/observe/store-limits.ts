import { messageOf } from '../../../core/error-message.ts';
import { AppError } from '../../../core/problem.ts';
import type { Host } from '../../../platform/host.ts';
import { compareVersions, minorOf } from '../../../api-specs/etcd/versions.ts';
import { argvOf } from '../cluster/command-line.ts';
import { flagsOf } from '../configuration/configuration.ts';
import { openStore } from '../../client/etcd-client.ts';
import type { ClusterFile, MemberSeen, MemberSpec, V2Seen } from '../../engine/types.ts';
import type { Access } from '../../engine/access.ts';

const defaultQuota = 2 * 1024 ** 3;
const metric = /^etcd_server_quota_backend_bytes\s+(\S+)/m;

/** As the server is configured: flag, environment or file; 0 and nothing mean the store's default. Pure. */
export const configuredQuota = (spec: MemberSpec, host: MemberSeen['host']): number => {
  const flag = flagsOf(argvOf(spec.old_command, spec.old_binary) ?? []).get('quota-backend-bytes');
  const named = [flag, spec.env?.['ETCD_QUOTA_BACKEND_BYTES'], host?.config?.['quota-backend-bytes']];
  const bytes = Number(named.find((value) => value !== undefined) ?? 0);
  return bytes > 0 ? bytes : defaultQuota;
};

/** What a member says of its own quota; undefined when its metrics do not say it (3.2) or cannot be read. */
const quotaOf = async (access: Access, spec: MemberSpec): Promise<number | undefined> => {
  const answer = await access
    .store(spec.client_url)
    .connection.get('/metrics')
    .catch(() => undefined);
  const bytes = Number(metric.exec(answer?.status === 200 ? answer.text : '')?.[1]);
  return Number.isFinite(bytes) && bytes > 0 ? bytes : undefined;
};

export const seeQuotas = async (
  cluster: ClusterFile,
  access: Access,
  seen: readonly MemberSeen[],
): Promise<ReadonlyMap<string, number>> => {
  const rows = await Promise.all(
    cluster.members.map(async (spec): Promise<readonly [string, number]> => {
      const member = seen.find(({ name }) => name === spec.name);
      const said = member?.is_reachable === true ? await quotaOf(access, spec) : undefined;
      return [spec.name, said ?? configuredQuota(spec, member?.host)];
    }),
  );
  return new Map(rows);
};

/** spec/store#limits: above this the wait is the longest anyway, so nobody needs to read more of it. */
const mostV2Bytes = 100_000_000;
/** From 3.5 on the interface is off, and even a read through it can keep 3.6 from starting: it is never asked there. */
const lastWithV2 = '3.4';

/**
 * How much data the store's old interface holds. Its snapshot files say it only as of the last snapshot, which may be a hundred thousand writes old
 * or not there; a plain read of the whole tree says it now. It is not replicated, so it leaves nothing behind.
 */
export const seeV2 = async (
  host: Host,
  access: Access,
  { client_url, server_version }: MemberSeen,
): Promise<V2Seen> => {
  if (server_version === undefined || compareVersions(minorOf(server_version) ?? '0.0', lastWithV2) > 0)
    return { bytes: 0 };
  const { tls, user } = access;
  const store = openStore(host, {
    url: client_url,
    tls,
    user,
    timeoutMs: 5000,
    maxReceiveBytes: mostV2Bytes,
  });
  try {
    const { status, text } = await store.connection.get('/v2/keys/?recursive=true');
    // Off from 3.4 on where nobody asked for it: nothing can be written through it, and the snapshot files say the rest.
    if (status === 404 || status === 410) return { bytes: 0 };
    if (status === 200) return { bytes: isEmptyTree(text) ? 0 : Buffer.byteLength(text) };
    return { unknown: `its interface answers ${status}` };
  } catch (error) {
    if (error instanceof AppError && error.detail.code === 'RESOURCE_EXHAUSTED')
      return { bytes: mostV2Bytes };
    return { unknown: messageOf(error) };
  }
};
/** A tree without a single node: servers omit `nodes` or send an empty list. */
const isEmptyTree = (text: string): boolean =>
  !/"nodes"\s*:\s*\[\s*[^\]\s]/.test(text) && !text.includes('"value"');
