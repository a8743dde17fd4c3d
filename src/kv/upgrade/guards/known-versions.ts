import { isUnknownTo, rulesFor, versionTable } from '../../../api-specs/etcd/version-rules.ts';
import type { VersionRule } from '../../../api-specs/etcd/version-rules.ts';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { guard, type GuardInput } from './guard.ts';

type Against = { readonly name: string; readonly what: string; readonly rule: VersionRule };

const said = ({ name, what, rule: { reason, instead, source } }: Against) => ({
  member: name,
  message: `${name}: ${what}: ${reason} (${source})`,
  hint: instead,
});

/** Everything that the version table says against what runs and what is to be started. */
const against = ({ observation, options, from, to, kind }: GuardInput): Against[] => {
  const table = options.versions ?? versionTable;
  return observation.members.flatMap(({ name, host, server_version }) => {
    const fresh = host?.new_binary_version;
    const isStarted = fresh !== undefined && minorOf(fresh) === to && fresh !== server_version;
    const isLeft =
      server_version !== undefined && minorOf(server_version) === from && to !== from && kind !== 'downgrade';
    return [
      ...(isStarted ? rulesFor(table, fresh, 'arrive') : []).map((rule) => ({
        name,
        what: `its new version is ${fresh}`,
        rule,
      })),
      ...(isLeft ? rulesFor(table, server_version, 'leave') : []).map((rule) => ({
        name,
        what: `it runs ${server_version}, which must not be upgraded from`,
        rule,
      })),
    ];
  });
};

/** Versions that its own project withdrew, or that leave something behind that harms the next one. */
export const knownVersions = guard(
  'known-versions',
  'nothing is known against these versions',
  (input, log) => {
    for (const one of against(input)) if (one.rule.is_final !== true) log[one.rule.level](said(one));
    const table = input.options.versions ?? versionTable;
    const fresh = input.observation.members.flatMap(({ host }) => host?.new_binary_version ?? []);
    for (const version of new Set(fresh.filter((one) => minorOf(one) === input.to)))
      if (isUnknownTo(table, version))
        log.unknown({
          message: `${version} is newer than the version data of ${table.data_of}: what is known against it could not be looked up`,
          hint: '--versions-file FILE supplies newer data; opsctl kv versions shows what is built in',
        });
  },
);

/** Where upstream says that there is no safe way around a version, nobody can accept it. */
export const leastVersions = guard(
  'least-versions',
  'every member runs a version from which the upgrade is safe',
  (input, log) => {
    for (const one of against(input)) if (one.rule.is_final === true) log[one.rule.level](said(one));
  },
);
