import { refusedValues } from '../../../api-specs/etcd/settings.ts';
import { rowOf, type Minor } from '../../../api-specs/etcd/versions.ts';
import { accessInEnvironment } from './access.ts';
import { type ConfigFinding, finding } from './finding.ts';

const variableOf = (key: string): string => `ETCD_${key.toUpperCase().replaceAll('-', '_')}`;

/** Versions that exit when a flag and a variable set the same (seen on real servers). */
const refusesBoth: readonly Minor[] = ['3.4', '3.5', '3.6'];

/** What the version `to` would make of a server's environment. With a configuration file it is not read at all. Pure. */
export const lintEnvironment = (
  env: Readonly<Record<string, string>>,
  flags: ReadonlyMap<string, string>,
  to: Minor,
  from?: Minor,
): ConfigFinding[] => {
  if (flags.has('config-file')) return [];
  const removed = (rowOf(to)?.removed ?? [])
    .filter(({ key }) => env[variableOf(key)] !== undefined)
    .map(({ key, instead }) => finding('warn', variableOf(key), `is ignored from ${to} on`, instead));
  const values = refusedValues
    .filter(({ minor, key, value }) => minor === to && env[variableOf(key)] === value)
    .map(({ key, value, instead }) =>
      finding('fail', variableOf(key), `is ${value}: the server would not start`, instead),
    );
  const both = [...flags.keys()]
    .filter((key) => refusesBoth.includes(to) && env[variableOf(key)] !== undefined)
    .map((key) =>
      finding(
        'fail',
        variableOf(key),
        `and --${key} set the same: the server would not start`,
        'keep one of the two',
      ),
    );
  return [...accessInEnvironment(env, flags, { from, to }), ...removed, ...values, ...both];
};
