import { resolve } from 'node:path';
import { defineCommand } from '../../cli/command.ts';
import { str } from '../../core/field.ts';
import { recordResult } from '../../core/result.ts';
import { timeoutOf } from './ask.ts';
import { endpointFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';
import { fileArgument } from './snapshot-file-argument.ts';
import { snapshotMember } from './snapshot-member.ts';

const silenceMs = 30_000;

export const snapshotSave = defineCommand({
  path: ['kv', 'snapshot', 'save'],
  noDryRun: 'opsctl kv status shows the size of the store',
  summary: 'Save a snapshot of the v3 data into a file, verified while it arrives',
  about:
    'Nothing is left of a snapshot that is cut off or does not fit its checksum. v2 data is not part of a snapshot.',
  args: [fileArgument],
  flags: {
    ...endpointFlags,
    member: {
      field: str(undefined, { min: 1 }),
      summary: 'Member of the cluster file to take it from (default: the leader)',
      value: 'name',
      complete: 'kv-member',
    },
  },
  examples: [
    {
      line: 'opsctl kv snapshot save backup.db --endpoints localhost:2379',
      says: 'Snapshot saved at backup.db',
    },
  ],
  run: async (context, values) => {
    const { host } = context;
    const opened = await openCluster(context, values);
    const source = await snapshotMember(context, opened, values.member);
    const [{ openStore }, { saveSnapshot }, { withDeadline }] = await Promise.all([
      import('../../kv/client/etcd-client.ts'),
      import('../../kv/client/snapshot.ts'),
      import('../../kv/client/snapshot-deadline.ts'),
    ]);
    const limitMs = context.settings.get('timeout') === undefined ? undefined : await timeoutOf(context);
    const began = host.elapsed();
    const path = resolve(host.cwd, values.file);
    const saved = await withDeadline(host, { signal: context.signal, limitMs }, async (signal) => {
      const store = openStore(host, {
        url: source.client_url,
        tls: opened.access.tls,
        user: opened.access.user,
        timeoutMs: silenceMs,
        signal,
      });
      const { revision, raft_index } = await store.status();
      return { ...(await saveSnapshot(host, store, path)), revision, raft_index };
    });
    const data = {
      member: source.name,
      path,
      ...saved,
      duration_ms: Math.round(host.elapsed() - began),
    };
    return recordResult(data, {
      text: `Snapshot saved at ${values.file}`,
      name: 'path',
      message: `verified: ${saved.size_bytes} bytes, revision ${saved.revision}, sha256 ${saved.trailer_sha256}`,
    });
  },
});
