import { join, resolve } from 'node:path';
import { AppError } from '../../../core/problem.ts';
import { openStore } from '../../client/etcd-client.ts';
import { saveSnapshot, verifySnapshot } from '../../client/snapshot.ts';
import type { Host } from '../../../platform/host.ts';
import type { Access } from '../../engine/access.ts';
import type { Observation } from '../../engine/types.ts';

const SILENCE_MS = 30_000;

type Wanted = {
  readonly access: Access;
  readonly observation: Observation;
  /** A given file, instead of a fresh one. */
  readonly file: string | undefined;
  /** Where a fresh one is kept. */
  readonly directory: string;
  info(text: string): void;
};

/** The snapshot to rehearse on: a given file, verified, or a fresh one of a follower. */
export const snapshotToRehearse = async (
  host: Host,
  { access, observation, file, directory, info }: Wanted,
): Promise<string> => {
  if (file !== undefined) {
    const path = resolve(host.cwd, file);
    await verifySnapshot(host, path);
    return path;
  }
  const reachable = observation.members.filter((member) => member.is_reachable);
  const source = reachable.find((member) => !member.is_leader) ?? reachable[0];
  if (source === undefined)
    throw new AppError('network', 'no member answers, so there is nothing to copy', {
      code: 'UNAVAILABLE',
      tryThis: ['--snapshot FILE'],
    });
  const path = join(directory, 'snapshot.db');
  info(`saving a snapshot of ${source.name} for the private copy`);
  await saveSnapshot(
    host,
    openStore(host, {
      url: source.client_url,
      tls: access.tls,
      user: access.user,
      timeoutMs: SILENCE_MS,
    }),
    path,
  );
  return path;
};
