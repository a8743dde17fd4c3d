import { minorOf } from '../../api-specs/etcd/versions.ts';
import { rulesFor } from '../../api-specs/etcd/version-rules.ts';
import type { VersionRule } from '../../api-specs/etcd/version-rules.ts';
import { guard } from './guard.ts';

const said = (name: string, what: string, { reason, instead, source }: VersionRule) => ({
  member: name,
  message: `${name}: ${what}: ${reason} (${source})`,
  hint: instead,
});

/** Versions that its own project withdrew, or that leave something behind that harms the next one. */
export const knownVersions = guard(
  'known-versions',
  'nothing is known against these versions',
  ({ observation, from, to }, log) => {
    for (const { name, host, server_version } of observation.members) {
      const fresh = host?.new_binary_version;
      if (fresh !== undefined && minorOf(fresh) === to && minorOf(server_version) !== to)
        for (const rule of rulesFor(fresh, 'arrive'))
          log[rule.level](said(name, `${fresh}, to be started,`, rule));
      if (server_version !== undefined && minorOf(server_version) === from && to !== from)
        for (const rule of rulesFor(server_version, 'leave'))
          log[rule.level](said(name, `it runs ${server_version}, which must not be upgraded from`, rule));
    }
  },
);
