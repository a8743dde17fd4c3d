import { versionRows } from '../../api-specs/etcd/versions.ts';
import type { Flags, ValuesOf } from '../../cli/command.ts';
import { str } from '../../core/field.ts';
import { clusterFlags } from './flags.ts';
import { bucketFlags } from './snapshot-flags.ts';

export const restoreFlags = {
  ...clusterFlags,
  snapshot: {
    effects: ['reads'],
    field: str(undefined, { min: 1 }),
    summary: 'Snapshot: a file or s3://BUCKET/PREFIX/NAME (default: the newest one of the last run)',
    value: 'file',
    complete: 'file',
  },
  to: {
    field: str(16, { pattern: '^\\d+\\.\\d+$' }),
    summary: 'Version to rebuild (default: the one before the last run)',
    value: 'minor',
    suggest: versionRows.map(({ minor }) => minor),
  },
  ...bucketFlags,
} as const satisfies Flags;

export type RestoreValues = ValuesOf<typeof restoreFlags>;
