import { crc32 } from 'node:zlib';
import { snapshotFile, trailer } from '../disk/db-file.ts';
import { decimal, hexFrom } from '../disk/wal.ts';
import type { Command } from '../state/command.ts';
import {
  type Api,
  bigField,
  type Body,
  type Call,
  enumField,
  omitZeros,
  yieldOnce,
  RpcError,
  type Stream,
  unsignedField,
} from './rpc.ts';
import { proposeCommand, checkLooking, checkToken, header } from './kv.ts';

const CHUNK = 32 * 1024;

/** The 3.6 status of its data and of an active downgrade. */
const status36 = ({ node: { machine }, settings }: Api): Body => ({
  storageVersion: machine.clusterVersion ?? '',
  dbSizeQuota: String(settings.quotaBytes),
  downgradeInfo:
    machine.downgradeTo === undefined ? {} : { enabled: true, targetVersion: machine.downgradeTo },
});

export const status = async (api: Api, call: Call): Promise<Body> => {
  checkLooking(api, call);
  const { raft, machine } = api.node;
  const more = {
    raftAppliedIndex: String(machine.applied),
    errors: [
      ...(raft.leader === undefined ? ['etcdserver: no leader'] : []),
      ...machine.alarms.map((one) => `memberID:${one.member} alarm:${one.alarm} `),
    ],
    dbSizeInUse: String(machine.sizeBytes),
  };
  return omitZeros({
    header: header(api),
    version: api.version,
    dbSize: String(machine.fileBytes),
    leader: raft.leader === undefined ? '0' : decimal(raft.leader),
    raftIndex: String(api.form.has.appliedIndex ? raft.log.lastIndex : machine.applied),
    raftTerm: String(raft.term),
    ...(api.form.has.appliedIndex ? more : {}),
    ...(api.form.has.learners ? { isLearner: machine.membership.isLearner(api.node.id) } : {}),
    ...(api.form.has.downgrade ? status36(api) : {}),
  });
};

const alarmOf = (call: Call): 'NONE' | 'NOSPACE' | 'CORRUPT' =>
  enumField(call.body, 'alarm', ['NONE', 'NOSPACE', 'CORRUPT'], 'AlarmType');
export const alarm = async (api: Api, call: Call): Promise<Body> => {
  const action = enumField(
    call.body,
    'action',
    ['GET', 'ACTIVATE', 'DEACTIVATE'],
    'AlarmRequest_AlarmAction',
  );
  const kind = alarmOf(call);
  const member = unsignedField(call.body, 'memberID');
  const { machine } = api.node;
  const showAlarms = (): Body => {
    const alarms = machine.alarms
      .filter((one) => kind === 'NONE' || one.alarm === kind)
      .map((one) => omitZeros({ memberID: one.member, alarm: one.alarm }));
    return { ...(api.form.has.alarmHeader ? { header: header(api) } : {}), ...omitZeros({ alarms }) };
  };
  if (action === 'GET') {
    checkLooking(api, call);
    return showAlarms();
  }
  checkToken(api, call);
  const wasRaised = machine.alarms.some(
    (one) => one.alarm === kind && (one.member === member || member === '0'),
  );
  await proposeCommand(api, { op: 'alarm', action, member, alarm: kind } satisfies Command);
  // An alarm that was not raised cannot be disarmed, so the response lists no alarm.
  const changed = action === 'ACTIVATE' || wasRaised ? [omitZeros({ memberID: member, alarm: kind })] : [];
  return { ...(api.form.has.alarmHeader ? { header: header(api) } : {}), ...omitZeros({ alarms: changed }) };
};

export const hash = async (api: Api): Promise<Body> => ({
  header: header(api),
  hash: crc32(JSON.stringify([...api.node.machine.keys.versions()])),
});

export const hashKv = async (api: Api, call: Call): Promise<Body> => {
  const asked = Number(bigField(call.body, 'revision'));
  const { keys } = api.node.machine;
  const upTo = asked === 0 ? keys.revision : asked;
  if (upTo > keys.revision)
    throw new RpcError(11, 'etcdserver: mvcc: required revision is a future revision');
  const versions = [...keys.versions()].filter((one) => one.mod <= upTo);
  return omitZeros({
    header: header(api),
    hash: crc32(JSON.stringify(versions)),
    compact_revision: keys.compacted === 0 ? '-1' : String(keys.compacted),
  });
};

const noUser = (call: Call, api: Api): void => {
  // spec/store#measured-answers: maintenance errors name the layer that rejected the call.
  if (api.node.machine.isAuthOn && call.token === undefined)
    throw new RpcError(2, 'auth: user name is empty');
  checkToken(api, call);
};
export const defragment = async (api: Api, call: Call): Promise<Body> => {
  noUser(call, api);
  api.node.machine.defragment();
  return {};
};

/** spec/store#measured-snapshots: pieces with the bytes that remain, then one with only the sha256 of everything before. */
export const snapshot = async (api: Api, call: Call): Promise<Stream> => {
  const end = api.form.snapshotNewlines ? '\n' : '';
  const line = (value: Body): Buffer => Buffer.from(JSON.stringify(value) + end);
  const refusal = ((): RpcError | undefined => {
    try {
      checkToken(api, call);
      return undefined;
    } catch (error) {
      return error as RpcError;
    }
  })();
  if (refusal !== undefined) {
    const { code, message } = refusal;
    return {
      stream: yieldOnce(
        line({ error: { grpc_code: code, http_code: 400, message, http_status: 'Bad Request' } }),
      ),
    };
  }
  const file = snapshotFile(api.node.machine);
  return {
    stream: (async function* () {
      for (let at = 0; at < file.length; at += CHUNK) {
        const blob = file.subarray(at, at + CHUNK);
        const remaining = file.length - at - blob.length + 32;
        yield line({ result: { remaining_bytes: String(remaining), blob: blob.toString('base64') } });
      }
      yield line({ result: { blob: trailer(file).toString('base64') } });
    })(),
  };
};

export const transferLeader = async (api: Api, call: Call): Promise<Body> => {
  checkToken(api, call);
  const { raft, links, machine } = api.node;
  if (!raft.isLeading) throw new RpcError(9, 'etcdserver: not leader');
  const target = hexFrom(unsignedField(call.body, 'targetID'));
  if (target === api.node.id) return { header: header(api) };
  if (!links.has(target) || machine.membership.isLearner(target))
    throw new RpcError(9, 'etcdserver: bad leader transferee');
  if (!(await api.node.handOver(target)))
    throw new RpcError(14, 'etcdserver: request timed out, possibly due to previous leader failure');
  return { header: header(api) };
};
