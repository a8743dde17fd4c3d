import { argvOf } from '../upgrade/cluster/command-line.ts';
import { flagsOf } from '../upgrade/configuration/configuration.ts';
import type { ClusterFile, MemberSpec } from '../engine/types.ts';
import type { Which } from '../upgrade/supervisors/driver.ts';

/** What a member with an empty data directory is told: who is there, and that it joins them. Flag and key of the file have one name. */
export type JoinSettings = {
  readonly 'initial-cluster': string;
  readonly 'initial-cluster-state': 'existing';
};
export const joinSettings = (initialCluster: string): JoinSettings => ({
  'initial-cluster': initialCluster,
  'initial-cluster-state': 'existing',
});
const variableOf = (flag: string): string => `ETCD_${flag.toUpperCase().replaceAll('-', '_')}`;

const wordsOf = (member: MemberSpec, which: Which): readonly string[] | undefined =>
  argvOf(member[`${which}_command`], member[`${which}_binary`]);

/** The words with this flag set: in its place, in either of its forms, else at the end. */
const withFlag = (words: readonly string[], flag: string, value: string): string[] => {
  const at = words.findIndex(
    (word) => word.replace(/^--?/, '').split('=')[0] === flag && word.startsWith('-'),
  );
  if (at < 0) return [...words, `--${flag}=${value}`];
  const isOne = (words[at] as string).includes('=');
  return [...words.slice(0, at), `--${flag}=${value}`, ...words.slice(at + (isOne ? 1 : 2))];
};

/** How these settings reach the server: a server with a configuration file reads neither flags nor environment. */
export type JoinBy = 'file' | 'command' | undefined;
export const joinsBy = (cluster: ClusterFile, member: MemberSpec, which: Which): JoinBy => {
  if (member.config_file !== undefined) return 'file';
  const by = cluster.driver === 'ssh' ? (cluster.ssh?.then ?? 'local') : (cluster.driver ?? 'local');
  const words = wordsOf(member, which);
  if (by !== 'local' || words === undefined) return undefined;
  const isByFile =
    flagsOf(words.slice(1)).has('config-file') || member.env?.['ETCD_CONFIG_FILE'] !== undefined;
  return isByFile ? undefined : 'command';
};

/** The member as it is started this once. A flag and a variable for one setting are refused by the server: each stays what it was. */
export const joiningMember = (member: MemberSpec, which: Which, settings: JoinSettings): MemberSpec => {
  let words = [...(wordsOf(member, which) ?? [])];
  let env = { ...member.env };
  for (const [flag, value] of Object.entries(settings)) {
    if (env[variableOf(flag)] === undefined) words = withFlag(words, flag, value);
    else env = { ...env, [variableOf(flag)]: value };
  }
  words = words.filter((word) => !/^--?force-new-cluster(=|$)/.test(word));
  return { ...member, env, [`${which}_command`]: words };
};

/** The configuration file with these settings; comments and order stay. */
export const joiningFile = async (text: string, settings: JoinSettings): Promise<string> => {
  const { parseDocument } = await import('../upgrade/cluster/yaml.ts');
  const document = parseDocument(text);
  for (const [key, value] of Object.entries(settings)) document.set(key, value);
  document.delete('force-new-cluster');
  return document.toString({ lineWidth: 0 });
};
