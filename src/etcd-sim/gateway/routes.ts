import { everyForm, type Form } from '../forms.ts';
import { authDisable, authEnable, authStatus, authenticate, memberList, userAdd } from './cluster.ts';
import { memberAdd, memberPromote, memberRemove, memberUpdate } from './membership.ts';
import { compaction, deleteRange, put, range } from './kv.ts';
import { grant, keepAlive, leases, revoke, timeToLive } from './lease.ts';
import { alarm, defragment, hash, hashKv, snapshot, status, transferLeader } from './maintenance.ts';
import { downgrade } from './downgrade.ts';
import type { Rpc } from './rpc.ts';
import { txn } from './txn.ts';
import { watch } from './watch.ts';

type Routes = Readonly<Record<string, Rpc>>;
/** What each version answers below its gateway prefix (spec/store#measured-versions). */
export const routesOf = (form: Form): Routes => ({
  '/kv/put': put,
  '/kv/range': range,
  '/kv/deleterange': deleteRange,
  '/kv/txn': txn,
  '/watch': watch,
  '/kv/compaction': compaction,
  '/lease/grant': grant,
  '/lease/keepalive': keepAlive,
  '/kv/lease/revoke': revoke,
  '/kv/lease/timetolive': timeToLive,
  '/maintenance/status': status,
  '/maintenance/alarm': alarm,
  '/maintenance/hash': hash,
  '/maintenance/defragment': defragment,
  '/maintenance/snapshot': snapshot,
  '/cluster/member/list': memberList,
  '/cluster/member/add': memberAdd,
  '/cluster/member/update': memberUpdate,
  '/cluster/member/remove': memberRemove,
  ...(form.has.learners ? { '/cluster/member/promote': memberPromote } : {}),
  '/auth/authenticate': authenticate,
  '/auth/enable': authEnable,
  '/auth/disable': authDisable,
  '/auth/user/add': userAdd,
  ...(form.has.leases ? { '/kv/lease/leases': leases } : {}),
  ...(form.has.newLeasePaths
    ? { '/lease/leases': leases, '/lease/revoke': revoke, '/lease/timetolive': timeToLive }
    : {}),
  ...(form.has.transferLeader ? { '/maintenance/transfer-leadership': transferLeader } : {}),
  ...(form.has.hashKv ? { '/maintenance/hashkv': hashKv, '/maintenance/downgrade': downgrade } : {}),
  ...(form.has.authStatus ? { '/auth/status': authStatus } : {}),
});
/** What any version answers: its own interface has calls that its gateway has not. */
export const allRoutes: Routes = routesOf(everyForm);
