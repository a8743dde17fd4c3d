import { resolve } from 'node:path';
import { defineCommand } from '../../cli/command.ts';
import { recordResult } from '../../core/result.ts';
import { fileArgument } from './snapshot-file-argument.ts';

export const snapshotStatus = defineCommand({
  path: ['kv', 'snapshot', 'status'],
  summary: 'Show what a snapshot file holds',
  about: 'hash is the value that the tools of 3.3 and later print; compare only values from one tool.',
  args: [fileArgument],
  examples: [{ line: 'opsctl kv snapshot status backup.db', says: 'Revision, keys, size and hash' }],
  run: async (context, values) => {
    const path = resolve(context.host.cwd, values.file);
    const { verifySnapshot } = await import('../../kv/client/snapshot.ts');
    const { snapshotContent } = await import('../../kv/client/snapshot-content.ts');
    const { withSnapshot } = await import('../../kv/client/snapshot-file.ts');
    const { trailer_sha256 } = await verifySnapshot(context.host, path);
    const content = withSnapshot(context.host.files, path, snapshotContent);
    return recordResult(
      { ...content, hash_hex: content.hash.toString(16), trailer_sha256 },
      { columns: ['hash_hex', 'revision', 'total_key', 'total_size'], name: 'revision' },
    );
  },
});
