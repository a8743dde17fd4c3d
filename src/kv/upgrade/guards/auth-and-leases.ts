import { compareVersions } from '../../../api-specs/etcd/versions.ts';
import { guard, sees } from './guard.ts';

const shortLeaseSeconds = 300;
const safePatch = '3.2.31';

const revokeWarning = {
  message: 'a lease revoke without permission that reaches a 3.3 member during the upgrade can corrupt data',
  hint: 'until every member runs 3.3, clients must not revoke leases, or must use members of 3.2 for it',
};

/** spec/store#limits: auth with small lease TTL: 3.2.31 first; an unauthorized revoke sent to a 3.3 member can corrupt data. */
export const authAndLeases = guard(
  'auth-and-leases',
  'authentication and leases are no danger here',
  ({ observation, cluster, from, to }, log) => {
    const { auth, members, shortest_lease_seconds: shortest } = observation;
    if (auth.is_on !== true) return;
    if (from === '3.2' && to === '3.3') log.warn(revokeWarning);
    // A client certificate can name the user too; then the read went well.
    if (cluster.user === undefined && (cluster.tls?.cert_file === undefined || auth.problem !== undefined))
      log.fail({
        message: 'authentication is on and the cluster file names no user: members could not be tested',
        hint: 'user.name and user.password_file in the cluster file (a user with the root role)',
      });
    else if (auth.problem !== undefined)
      log.fail({
        message: `user ${cluster.user?.name} cannot read: ${auth.problem}`,
        hint: 'a user with the root role is needed',
      });
    const old = members.filter(
      ({ server_version }) =>
        from === '3.2' && server_version !== undefined && compareVersions(server_version, safePatch) < 0,
    );
    const first = old[0];
    if (first !== undefined && (shortest === undefined || shortest < shortLeaseSeconds)) {
      const leases =
        shortest === undefined
          ? 'leases with a short time to live may exist (3.2 cannot list them)'
          : `the shortest lease lives ${shortest} s`;
      log.fail({
        member: first.name,
        message: `authentication is on, ${leases}, and ${first.name} runs ${first.server_version}: data can become inconsistent`,
        hint: `upgrade every member to ${safePatch} or later first`,
      });
    }
    log.warn({
      message:
        'authentication is on: tokens die with each member that is replaced; clients have to log in again',
      hint: 'clients should log in once, not once per failed request',
    });
  },
  sees.answer,
  {
    skips: ({ observation: { auth } }) => (auth.is_on === false ? 'authentication is off' : undefined),
  },
);
