import { AppError, problem, invalidArguments } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import { type SimulatedState, clusterId, entryLine, memberId, Wal } from '../disk/db-file.ts';
import { bumpsRevisions } from '../forms.ts';
import type { Command, MemberRecord, StoredRecord } from '../state/command.ts';

/** Who a member of a new cluster is. */
type NewIdentity = {
  readonly member: string;
  readonly cluster: string;
  readonly members: readonly MemberRecord[];
};
export const identityOf = (
  members: readonly { readonly peerUrl: string }[],
  own: string,
  token: string,
): NewIdentity => {
  const records = members.map(({ peerUrl }) => ({
    id: memberId([peerUrl], token),
    peerUrls: [peerUrl],
    isLearner: false,
  }));
  return {
    member: memberId([own], token),
    cluster: clusterId(records.map(({ id }) => id)),
    members: records,
  };
};
/** The log of a member that starts with data. All members of a new cluster start with the same entries. */
export const writeFirstLog = async (
  host: Host,
  dataDir: string,
  identity: NewIdentity,
  commands: readonly Command[],
): Promise<void> => {
  const { wal } = await Wal.open(host, dataDir);
  const entries = commands.map((command, i) =>
    entryLine({ index: i + 1, term: 1, data: { id: `restore-${i + 1}`, command } }),
  );
  wal.write([{ meta: identity }, { hard: { term: 1 } }, ...entries, { commit: commands.length }]);
  wal.close();
};

/** The flags of `snapshot restore` that the simulated ctl program supports, with their real names. */
export type CtlRestore = {
  readonly snapshot: string;
  readonly name: string;
  readonly peers: readonly { readonly name: string; readonly peerUrl: string }[];
  readonly token: string;
  readonly dataDir: string;
  readonly skipsHash: boolean;
  readonly bumpRevision: number;
  readonly marksCompacted: boolean;
};
const switches: ReadonlySet<string> = new Set(['skip-hash-check', 'mark-compacted']);
/** Flags in both forms, `--name n1` and `--name=n1`; the other words are the operands. */
const readWords = (words: readonly string[]) => {
  const [flags, operands] = [new Map<string, string>(), [] as string[]];
  for (let i = 0; i < words.length; i += 1) {
    const match = /^--([^=]+)(?:=(.*))?$/s.exec(words[i] ?? '');
    if (match === null) operands.push(words[i] ?? '');
    else if (match[2] !== undefined || switches.has(match[1] ?? ''))
      flags.set(match[1] ?? '', match[2] ?? 'true');
    else {
      i += 1;
      flags.set(match[1] ?? '', words[i] ?? '');
    }
  }
  return { flags, operands };
};
/** Reads the words after the name of the program: `snapshot restore FILE --name …`. */
export const readCtlWords = (words: readonly string[], version: string): CtlRestore => {
  const { flags, operands } = readWords(words);
  const [group, verb, snapshot] = operands;
  if (group !== 'snapshot' || verb !== 'restore' || snapshot === undefined)
    throw invalidArguments([problem('<command>', 'enum', 'must be version or snapshot restore FILE')]);
  if (!bumpsRevisions(version) && (flags.has('bump-revision') || flags.has('mark-compacted')))
    throw invalidArguments([problem('--bump-revision', 'unknown', `is not a flag of ${version}`)]);
  const bumpRevision = Number(flags.get('bump-revision') ?? 0);
  const marksCompacted = flags.get('mark-compacted') === 'true';
  if (bumpRevision > 0 !== marksCompacted)
    throw invalidArguments([problem('--mark-compacted', 'required', 'is required with --bump-revision')]);
  const peers = (flags.get('initial-cluster') ?? '').split(',').map((pair) => {
    const [name = '', peerUrl = ''] = pair.split('=');
    return { name, peerUrl };
  });
  const name = flags.get('name') ?? 'default';
  if (!peers.some((peer) => peer.name === name))
    throw invalidArguments([problem('--initial-cluster', 'rule', `must contain the member ${name}`)]);
  return {
    snapshot,
    name,
    peers,
    token: flags.get('initial-cluster-token') ?? 'etcd-cluster',
    dataDir: flags.get('data-dir') ?? `${name}.etcd`,
    skipsHash: flags.get('skip-hash-check') === 'true',
    bumpRevision,
    marksCompacted,
  };
};
/** Writes the data directory of one member from the content of a snapshot. */
export const restoreDirectory = async (
  host: Host,
  wanted: CtlRestore,
  content: {
    readonly revision: number;
    readonly compacted: number;
    readonly records: readonly StoredRecord[];
  },
  state: SimulatedState | undefined,
): Promise<void> => {
  if ((await host.files.list(wanted.dataDir).catch(() => [])).length > 0)
    throw new AppError('unsafe', `data-dir "${wanted.dataDir}" is not empty`, {
      code: 'DIRECTORY_NOT_EMPTY',
    });
  const revision = content.revision + wanted.bumpRevision;
  const compacted = wanted.marksCompacted ? revision : content.compacted;
  const own = wanted.peers.find(({ name }) => name === wanted.name)?.peerUrl ?? '';
  await host.files.makeDirectory(`${wanted.dataDir}/member/snap`, 0o700);
  await writeFirstLog(host, wanted.dataDir, identityOf(wanted.peers, own, wanted.token), [
    ...(state?.leases ?? []).map(({ id, ttl }) => ({ op: 'grant', id, ttl }) as const),
    { op: 'restore', keys: content.records, revision, compacted },
    ...(state?.users ?? []).map((user) => ({ op: 'user', ...user }) as const),
    ...(state?.isAuthOn === true ? [{ op: 'auth', on: true } as const] : []),
  ]);
};
