import { makeOwnDirectory, recordChild } from '../../platform/process-identity.ts';
import { isCtlWithoutRestore, utlNextTo } from '../../api-specs/etcd/versions.ts';
import { countText } from '../../core/format.ts';
import { args, hideOwnVariables, type ProgramArguments, trustCall } from '../../core/program-call.ts';
import { childPath, pathPart } from '../../core/file-name.ts';
import { next } from '../../core/next.ts';
import { cutText, AppError, awaitAll } from '../../core/problem.ts';
import { bytesField } from '../../core/protobuf.ts';
import { lossyText } from '../../core/text.ts';
import type { Bytes, Host } from '../../platform/host.ts';
import { assertTrustedProgram } from '../../platform/trust.ts';
import type { Endpoint } from '../client/messages.ts';
import { type Store, openStore } from '../client/etcd-client.ts';
import {
  type PageSource,
  type Reading,
  bucketRecords,
  snapshotRevision,
} from '../client/snapshot-content.ts';
import {
  type Verified,
  trailerCheck,
  verifySnapshot,
  withSnapshot,
  readSnapshot,
} from '../client/snapshot.ts';
import {
  type BucketOptions,
  type Destination,
  type SnapshotManifest,
  manifestName,
  parseManifest,
  writeManifest,
} from './catalog.ts';
import { isBucketUrl } from './catalog.ts';
import { openDestination } from './destination.ts';
import { hash } from 'node:crypto';
import { basename, dirname, join, resolve } from 'node:path';

export type Trial = {
  readonly host: Host;
  /** A verified local file. */
  readonly snapshot: string;
  /** The etcd programs, of the version that took the snapshot or a newer version. */
  readonly ctl: string;
  readonly server: string;
  readonly user?: Endpoint['user'];
  /** A member of the cluster of the snapshot, for a comparison of hashes. */
  readonly live?: Store | undefined;
  readonly signal: AbortSignal;
};
export type Comparison = {
  readonly check: 'revision' | 'keys' | 'hash';
  /** Null: opsctl could not compare, and `detail` contains the reason. */
  readonly ok: boolean | null;
  readonly detail: string;
};

const healthyWithinMs = 60_000;
const endWithinMs = 10_000;
const pollMs = 100;
const markedAsDeleted = 18;

/** Counts the existing keys in a snapshot file. Pure. */
function* countKeys(file: PageSource): Reading<number> {
  const alive = new Set<string>();
  for (const { key: at, value } of bucketRecords(file, 'key')) {
    const key = (bytesField(value, 1) ?? Buffer.alloc(0)).toString('latin1');
    if (at.length === markedAsDeleted) alive.delete(key);
    else alive.add(key);
    yield undefined;
  }
  return alive.size;
}

/** Removes the settings of an etcd server on this machine, which must not affect the private server. */
const privateEnvironment = (host: Host): Record<string, string | undefined> => ({
  ...hideOwnVariables(host),
  ...Object.fromEntries(
    Object.keys(host.env)
      .filter((name) => name.startsWith('ETCD_') && name !== 'ETCD_UNSUPPORTED_ARCH')
      .map((name) => [name, undefined]),
  ),
  ETCDCTL_API: '3',
});

type Place = { readonly data: string; readonly client: string; readonly peer: string; readonly log: string };
/**
 * Returns the program that restores: the given one, or the etcdutl next to an etcdctl without `snapshot restore`.
 * Throws if neither can restore.
 */
export const needRestoringCtl = async (
  host: Host,
  given: string,
  key: 'the ctl program' | 'ctl_binary',
  signal: AbortSignal,
): Promise<string> => {
  const versionText = async (program: string): Promise<string> => {
    await assertTrustedProgram(host, key, [program]);
    const env = privateEnvironment(host);
    const done = await host.processes.run(...trustCall([program], args`version`), { env, signal });
    return done.code === 0 ? done.stdout : '';
  };
  if (!isCtlWithoutRestore(await versionText(given))) return given;
  const utl = utlNextTo(given);
  const text = utl === undefined ? '' : await versionText(utl).catch(() => '');
  if (utl !== undefined && text !== '' && !isCtlWithoutRestore(text)) return utl;
  throw new AppError(
    'unsafe',
    `${given} is an etcdctl without snapshot restore: from 3.6 on, only etcdutl restores; no changes were made`,
    {
      code: 'WRONG_CTL',
      tryThis: [key === 'the ctl program' ? 'use --ctl PATH of etcdutl' : 'set ctl_binary: PATH of etcdutl'],
    },
  );
};
const rebuilt = async (
  { host, ctl: given, snapshot, signal }: Trial,
  { data, peer }: Place,
): Promise<void> => {
  const words = args`snapshot restore ${snapshot} --data-dir ${data} --name trial
    --initial-cluster trial=${peer} --initial-advertise-peer-urls ${peer}`;
  const ctl = await needRestoringCtl(host, given, 'the ctl program', signal);
  const done = await host.processes.run(...trustCall([ctl], words), {
    env: privateEnvironment(host),
    signal,
  });
  if (done.code === 0) return;
  throw new AppError(
    // A missing program does not mean that the snapshot is invalid.
    done.startError === undefined ? 'no' : 'config',
    `${basename(ctl)} cannot rebuild a data directory from the snapshot: ${done.startError ?? done.stderr.trim().split('\n').at(-1) ?? ''}`,
    {
      code: 'TRIAL_RESTORE_FAILED',
      tryThis: [
        'use --ctl PATH: etcdctl of 3.5 or older, etcdutl of 3.5 or later',
        'set ctl_binary in the cluster file',
      ],
    },
  );
};

const waitHealthy = async (
  { host, signal }: Trial,
  store: Store,
  { log }: Place,
  ended: () => boolean,
): Promise<void> => {
  const until = host.elapsed() + healthyWithinMs;
  while (!(await store.health().catch(() => undefined))?.is_healthy) {
    if (ended() || host.elapsed() > until) {
      const last =
        lossyText(await host.files.readBytes(log))
          .trim()
          .split('\n')
          .at(-1) ?? '';
      const what = ended() ? 'ended' : `was not healthy within ${healthyWithinMs / 1000} s`;
      throw new AppError('no', `the private member ${what}: ${cutText(last, 300)}`, {
        code: 'TRIAL_RESTORE_FAILED',
        tryThis: ['use --server PATH: the server of the version that saved the snapshot'],
      });
    }
    await host.sleep(pollMs, signal);
  }
};

const serverWords = ({ data, client, peer }: Place): ProgramArguments =>
  args`--name trial --data-dir ${data} --listen-client-urls ${client} --advertise-client-urls ${client}
    --listen-peer-urls ${peer} --initial-advertise-peer-urls ${peer} --initial-cluster trial=${peer}`;

/** Runs a private member on loopback ports. Stops it and waits for its exit, even after an error. */
const withMember = async <T>(trial: Trial, place: Place, work: (store: Store) => Promise<T>): Promise<T> => {
  const { host, server, user, signal } = trial;
  const env = privateEnvironment(host);
  await assertTrustedProgram(host, 'the server program', [server]);
  const child = await host.processes.start(...trustCall([server], serverWords(place)), {
    env,
    logFile: place.log,
  });
  await recordChild(host, dirname(place.log), 'server', child.pid);
  let hasEnded = false;
  const exited = child.exited.then(() => {
    hasEnded = true;
  });
  try {
    const store = openStore(host, {
      url: place.client,
      timeoutMs: 5000,
      signal,
      ...(user === undefined ? {} : { user }),
    });
    await waitHealthy(trial, store, place, () => hasEnded);
    return await work(store);
  } finally {
    child.kill('SIGTERM');
    const late = new AbortController();
    const timer = host.sleep(endWithinMs, late.signal).then(
      () => child.kill('SIGKILL'),
      () => false,
    );
    await exited;
    late.abort();
    await timer;
  }
};

type Expected = { readonly revision: number; readonly keys: number };
const compareKeys = async (store: Store, expected: Expected): Promise<Comparison> => {
  try {
    const { count } = await store.range('\0', { rangeEnd: '\0', limit: 1, keysOnly: true });
    return {
      check: 'keys',
      ok: count === expected.keys,
      detail: `${countText(count, 'key')}, the file has ${expected.keys}`,
    };
  } catch (error) {
    return { check: 'keys', ok: null, detail: `not compared: ${(error as Error).message}` };
  }
};

const compareHash = async (store: Store, live: Store | undefined, revision: number): Promise<Comparison> => {
  if (live === undefined)
    return {
      check: 'hash',
      ok: null,
      detail: 'not compared: no cluster was specified (--cluster, --endpoints)',
    };
  try {
    const [here, there] = await awaitAll([store.hashKv(revision), live.hashKv(revision)]);
    if (Math.max(0, here.compact_revision) !== Math.max(0, there.compact_revision))
      return {
        check: 'hash',
        ok: null,
        detail: 'not compared: the cluster has been compacted since the snapshot',
      };
    const [own, other] = [here.hash.toString(16), there.hash.toString(16)];
    return {
      check: 'hash',
      ok: own === other,
      detail: `${own} at revision ${revision}, the cluster ${other}`,
    };
  } catch (error) {
    return { check: 'hash', ok: null, detail: `not compared: ${(error as Error).message}` };
  }
};

/** Rebuilds a private member from the snapshot, compares its data and removes it. */
const trialRestore = async (trial: Trial): Promise<readonly Comparison[]> => {
  const { host, snapshot, live } = trial;
  const expected: Expected = {
    revision: withSnapshot(host.files, snapshot, snapshotRevision),
    keys: await readSnapshot(host, snapshot, countKeys, trial.signal),
  };
  const directory = await makeOwnDirectory(host, 'trial');
  try {
    const [client, peer] = await host.network.freePorts(2);
    const place: Place = {
      data: join(directory, 'data'),
      client: `http://127.0.0.1:${client}`,
      peer: `http://127.0.0.1:${peer}`,
      log: join(directory, 'log'),
    };
    await rebuilt(trial, place);
    return await withMember(trial, place, async (store) => {
      const { revision } = await store.status();
      return [
        {
          check: 'revision',
          ok: revision === expected.revision,
          detail: `revision ${revision}, the file has ${expected.revision}`,
        },
        await compareKeys(store, expected),
        await compareHash(store, live, expected.revision),
      ];
    });
  } finally {
    await host.files.remove(directory);
  }
};

/** Splits the path or `s3://` URL of a snapshot into its directory and name. */
const splitPlace = (place: string): { readonly where: string; readonly name: string } => {
  const at = place.lastIndexOf('/');
  return at < 0
    ? { where: '.', name: place }
    : { where: place.slice(0, at) || '/', name: place.slice(at + 1) };
};
const missing = (place: string): AppError =>
  new AppError('not-found', `snapshot not found: ${place}`, {
    code: 'NO_SNAPSHOT',
    tryThis: [next(['kv', 'snapshot', 'list', 'DESTINATION'])],
  });
/** Reads and verifies a stored snapshot as a stream with constant memory, without keeping the data. */
const verifyStream = async (
  destination: Destination,
  name: string,
  signal: AbortSignal,
): Promise<Verified> => {
  const chunks = await destination.stream(name, signal);
  if (chunks === undefined) throw missing(destination.placeOf(name));
  const check = trailerCheck();
  for await (const bytes of chunks) {
    signal.throwIfAborted();
    check.add(bytes);
  }
  return check.finish(destination.placeOf(name));
};
/**
 * Copies a stored snapshot into a local file and verifies it during the copy. An invalid snapshot leaves no
 * file.
 */
const fetchFile = async (
  host: Host,
  destination: Destination,
  name: string,
  path: string,
  signal: AbortSignal | undefined,
): Promise<Verified> => {
  const chunks = await destination.stream(name, signal);
  if (chunks === undefined) throw missing(destination.placeOf(name));
  let verified: Verified | undefined;
  const checkChunks = async function* (): AsyncGenerator<Bytes> {
    const check = trailerCheck();
    for await (const bytes of chunks) {
      signal?.throwIfAborted();
      check.add(bytes);
      yield bytes;
    }
    verified = check.finish(destination.placeOf(name));
  };
  await host.files.replaceStream(path, checkChunks(), 0o600);
  return verified as unknown as Verified;
};
/** Copies the snapshot to a local file below `directory` and returns its path. */
export const asLocalFile = async (
  host: Host,
  place: string,
  { directory, ...bucket }: BucketOptions & { readonly directory: string },
  signal?: AbortSignal,
): Promise<string> => {
  const { where, name } = splitPlace(place);
  const destination = await openDestination(host, where, {
    ...bucket,
    workDirectory: directory,
    flag: '--snapshot',
  });
  try {
    const path = childPath(directory, pathPart(`${hash('sha256', place).slice(0, 8)}-${name}`));
    await host.files.makeDirectory(directory, 0o700);
    await fetchFile(host, destination, name, path, signal);
    return path;
  } finally {
    destination.close();
  }
};

export type Verifying = {
  readonly host: Host;
  /** A path or an `s3://` URL. */
  readonly place: string;
  readonly bucket: BucketOptions;
  readonly signal: AbortSignal;
  /** Absent: opsctl checks only the file. */
  readonly trial?: Pick<Trial, 'ctl' | 'server' | 'user' | 'live'> | undefined;
};
export type Verification = Verified & {
  readonly path: string;
  readonly ok: boolean;
  readonly manifest: 'same' | 'none';
  readonly comparisons?: readonly Comparison[];
};
/** A complete file with a valid checksum may still differ from the stored file. */
const refuseOtherFile = (
  place: string,
  { file_sha256 }: Verified,
  manifest: SnapshotManifest | undefined,
): void => {
  if (manifest === undefined || manifest.file_sha256 === file_sha256) return;
  throw new AppError(
    'no',
    `${place} is not the stored file: its sha256 is ${file_sha256}, but the manifest contains ${manifest.file_sha256}`,
    {
      code: 'SNAPSHOT_DAMAGED',
      tryThis: [next(['kv', 'snapshot', 'list', 'DESTINATION'], ', and use another snapshot')],
    },
  );
};
type Read = { readonly verified: Verified; readonly file: string };
/** Reads the snapshot. A trial restore needs a local copy of an object in a bucket. */
const readStored = async (
  { host, place, signal, trial }: Verifying,
  destination: Destination,
  name: string,
  directory: string,
): Promise<Read> => {
  if (!isBucketUrl(place)) {
    const file = resolve(host.cwd, place);
    return { verified: await verifySnapshot(host, file, signal), file };
  }
  if (trial === undefined) return { verified: await verifyStream(destination, name, signal), file: '' };
  const file = childPath(directory, pathPart(name));
  await host.files.makeDirectory(directory, 0o700);
  return { verified: await fetchFile(host, destination, name, file, signal), file };
};
/**
 * Reads and verifies a stored snapshot, compares it with its manifest, and runs a trial restore on request. A
 * success is recorded in the manifest.
 */
export const verifyStored = async (verifying: Verifying): Promise<Verification> => {
  const { host, place, bucket, signal, trial } = verifying;
  const { where, name } = splitPlace(place);
  const directory = await makeOwnDirectory(host, 'verify');
  const destination = await openDestination(host, where, {
    ...bucket,
    workDirectory: directory,
    flag: 'file',
  });
  try {
    const { verified, file } = await readStored(verifying, destination, name, directory);
    const manifest = parseManifest(await destination.text(manifestName(name)));
    refuseOtherFile(place, verified, manifest);
    const comparisons =
      trial === undefined ? undefined : await trialRestore({ ...trial, host, snapshot: file, signal });
    const ok = comparisons?.every((one) => one.ok !== false) ?? true;
    if (ok && manifest !== undefined)
      await writeManifest(destination, name, {
        ...manifest,
        verified_at: new Date(host.now()).toISOString(),
        verified_by: trial === undefined ? 'checksum' : 'trial restore',
      });
    return {
      path: isBucketUrl(place) ? place : resolve(host.cwd, place),
      ok,
      ...verified,
      manifest: manifest === undefined ? 'none' : 'same',
      ...(comparisons === undefined ? {} : { comparisons }),
    };
  } finally {
    destination.close();
    await host.files.remove(directory);
  }
};
