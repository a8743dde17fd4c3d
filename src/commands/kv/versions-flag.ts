import type { VersionTable } from '../../api-specs/etcd/version-rules.ts';
import type { Context, Flags } from '../../cli/command.ts';
import { str } from '../../core/field.ts';

export const versionsFlag = {
  'versions-file': {
    effects: ['reads'],
    field: str(4096, { min: 1 }),
    summary: 'File with newer data of single versions (OPSCTL_KV_VERSIONS_FILE); see kv versions --as-file',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;

/** The file that the flag or the setting names; undefined: what is built in. */
export const givenVersions = async (
  { host, settings }: Context,
  flag: string | undefined,
): Promise<VersionTable | undefined> => {
  const setting = settings.get('kv.versions_file');
  const path = flag ?? setting?.value;
  if (path === undefined) return undefined;
  const { readVersions } = await import('../../kv/upgrade/version-file.ts');
  return readVersions(host, path, flag === undefined ? (setting?.origin ?? '') : '--versions-file');
};
