import { resolve } from 'node:path';
import { bool, req, str } from '../../core/field.ts';
import { recordResult } from '../../core/result.ts';
import type { Verification, Verifying } from '../../kv/snapshots/verify.ts';
import { defineCommand, type Context, type ValuesOf } from '../../cli/command.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';
import { bucketFlags, bucketOptions } from './snapshot-flags.ts';

const args = [
  {
    name: 'file',
    effects: ['reads'],
    field: req(str(4096, { min: 1 })),
    summary: 'The snapshot: a file, or s3://BUCKET/PREFIX/NAME',
    complete: 'file',
  },
] as const;
const program = (summary: string) =>
  ({ effects: ['runs'], field: str(4096, { min: 1 }), summary, value: 'program', complete: 'file' }) as const;
const flags = {
  restore: {
    effects: ['runs'] as const,
    field: bool(),
    summary: 'Rebuild a private member from it too, and compare what it holds',
  },
  ctl: program('With --restore: etcdctl or etcdutl (default: ctl_binary of the cluster file, else etcdctl)'),
  server: program('With --restore: the server (default: old_binary of the cluster file, else etcd)'),
  ...endpointFlags,
  ...bucketFlags,
};
type Given = ValuesOf<typeof flags, typeof args>;

/** Programs of the cluster file and a member to compare with, where a cluster is named. */
const trialOf = async (context: Context, values: Given): Promise<Verifying['trial']> => {
  if (values.restore !== true) return undefined;
  const isNamed = values.cluster !== undefined || values.endpoints !== undefined;
  const opened = isNamed ? await openCluster(context, values) : undefined;
  const [member] = opened?.cluster.members ?? [];
  const at = (path: string | undefined): string | undefined =>
    path?.includes('/') === true ? resolve(context.host.cwd, path) : path;
  return {
    ctl: at(values.ctl) ?? opened?.cluster.ctl_binary ?? 'etcdctl',
    server: at(values.server) ?? member?.old_binary ?? 'etcd',
    user: opened?.access.user,
    live: member === undefined ? undefined : opened?.access.store(member.client_url),
  };
};

const textOf = (file: string, { comparisons = [] }: Verification): string =>
  comparisons
    .map(({ check, ok, detail }) => `${check}: ${ok === null ? '' : ok ? 'same, ' : 'DIFFERENT, '}${detail}`)
    .join('\n') || `${file} is good`;

export const snapshotVerify = defineCommand({
  path: ['kv', 'snapshot', 'verify'],
  summary: 'Check a snapshot against its checksum and its manifest, with --restore by a trial restore too',
  about:
    'Exit code 20 when it is damaged, is not the file that was stored, or a private member rebuilt from it holds something else. Without --restore no other program is needed.',
  args,
  flags,
  examples: [
    { line: 'opsctl kv snapshot verify backup.db', says: 'reads it to its end' },
    {
      line: 'opsctl kv snapshot verify s3://backups/etcd/prod-20261122T040000Z-r1234.db --restore --cluster cluster.yaml',
      says: 'rebuilds a private member, compares revision, keys and hash, and removes it',
    },
  ],
  run: async (context, values) => {
    const { verifyStored } = await import('../../kv/snapshots/verify.ts');
    const trial = await trialOf(context, values);
    const done = await verifyStored({
      host: context.host,
      place: values.file,
      bucket: bucketOptions(values),
      signal: context.signal,
      ...(trial === undefined ? {} : { trial }),
    });
    return recordResult(
      done,
      { text: textOf(values.file, done), message: `${values.file} is good` },
      done.ok ? undefined : 'no',
    );
  },
});
