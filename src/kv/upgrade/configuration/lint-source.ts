import type { Minor } from '../../../api-specs/etcd/versions.ts';
import { flagsOf, lintEnvironment, lintFile, lintFlags } from './configuration.ts';
import type { ConfigFinding } from './finding.ts';
import type { Origin, ServerStart } from './server-start.ts';
import { changedDefaults, unknownKeys, unknownVariables } from './values.ts';

export type SourceFinding = ConfigFinding & {
  /** Which of several servers of the file. */
  readonly server: string;
  readonly origin: Origin | undefined;
};
const variableOf = (key: string): string => `ETCD_${key.toUpperCase().replaceAll('-', '_')}`;
const hasPrefix = (env: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith('ETCD_')));

const listFindings = ({ words, env, file, notes, unread }: ServerStart, to: Minor): ConfigFinding[] => {
  const flags = flagsOf(words);
  const hasFile = flags.has('config-file') || file !== undefined;
  const own = hasPrefix(env);
  const isSet = (key: string): boolean =>
    hasFile
      ? file === undefined || file[key] !== undefined
      : flags.has(key) || own[variableOf(key)] !== undefined;
  const known = [
    ...(file === undefined ? [] : lintFile(file, to)),
    ...(words.length === 0 ? [] : lintFlags(words, to, undefined, env)),
    ...(hasFile ? [] : lintEnvironment(own, flags, to)),
  ];
  const unknown = [
    ...(file === undefined ? [] : unknownKeys(file, to)),
    ...(hasFile ? [] : unknownVariables(own, to)),
  ];
  return [
    ...known,
    ...unknown.filter(({ key }) => !known.some((one) => one.key === key)),
    ...changedDefaults(isSet, to),
    ...(notes ?? []).map((note): ConfigFinding => ({ level: 'warn', ...note })),
    ...unread.map(
      (what): ConfigFinding => ({
        level: 'warn',
        key: what,
        message: 'is not readable here, so opsctl did not check its settings',
        hint: 'run the command on the host of the member, or check that file separately',
      }),
    ),
  ];
};
/** What the version `to` would make of the servers that a file starts, each finding with its file and line. Pure. */
export const lintStarts = (starts: readonly ServerStart[], to: Minor): SourceFinding[] =>
  starts.flatMap((start) => {
    const found = listFindings(start, to);
    return found
      .filter(
        (one, i) =>
          found.findIndex(
            ({ key, message, level }) => key === one.key && (message === one.message || level === 'fail'),
          ) === i,
      )
      .map((one) => ({ ...one, server: start.name, origin: start.origins.get(one.key) }));
  });
