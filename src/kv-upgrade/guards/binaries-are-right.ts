import { minorOf } from '../../api-specs/etcd/versions.ts';
import { guard } from './guard.ts';

/** What the new binary says of itself, on every host, before anything is stopped. */
export const binariesAreRight = guard(
  'binaries-are-right',
  'the new binary of every member says the right version',
  ({ observation, from, to }, log) => {
    const fresh = new Set<string>();
    for (const { name, host, server_version } of observation.members) {
      if (host === undefined) continue;
      const { new_binary_version: version, new_binary_error: error, old_binary_version: old } = host;
      if (version === undefined)
        log.fail({
          member: name,
          message: `${name}: the new binary cannot be asked for its version: ${error ?? 'unknown'}`,
          hint: 'check new_binary in the cluster file',
        });
      else if (to !== undefined && minorOf(version) !== to)
        log.fail({
          member: name,
          message: `${name}: the new binary is ${version}, the upgrade goes to ${to}`,
          hint: `put a ${to} binary there; nothing was stopped`,
        });
      else fresh.add(version);
      if (old === undefined)
        log.warn({
          member: name,
          message: `${name}: the old binary cannot be asked for its version: a failed start could not be taken back`,
          hint: 'check old_binary in the cluster file',
        });
      else if (server_version !== undefined && minorOf(server_version) === from && minorOf(old) !== from)
        log.fail({
          member: name,
          message: `${name}: the old binary is ${old}, but the member runs ${server_version}: a failed start could not be taken back`,
          hint: 'check old_binary in the cluster file',
        });
    }
    if (fresh.size > 1) log.warn({ message: `the new binaries differ: ${[...fresh].join(', ')}` });
  },
);
