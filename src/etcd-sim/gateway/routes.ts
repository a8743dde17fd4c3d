import type { Form } from '../forms.ts';
import { authDisable, authEnable, authStatus, authenticate, memberList, userAdd } from './cluster.ts';
import { compaction, deleteRange, put, range } from './kv.ts';
import { grant, keepAlive, leases, revoke, timeToLive } from './lease.ts';
import {
  alarm,
  defragment,
  downgrade,
  hash,
  hashKv,
  snapshot,
  status,
  transferLeader,
} from './maintenance.ts';
import type { Rpc } from './rpc.ts';
import { txn } from './txn.ts';

type Routes = Readonly<Record<string, Rpc>>;
/** What each version answers below its gateway prefix (spec/store#measured-versions). */
export const routesOf = (form: Form): Routes => ({
  '/kv/put': put,
  '/kv/range': range,
  '/kv/deleterange': deleteRange,
  '/kv/txn': txn,
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
