import type { Stored } from '../disk/wal.ts';
import { compareMinors, minorOf } from '../forms.ts';
import type { Api } from '../gateway/rpc.ts';
import { type Command, type MembershipChange, isMembershipChange } from '../state/command.ts';

export type Fatal = (text: string) => void;

/** spec/store#measured-upgrade: what a member logs when it starts. */
export const announce = (api: Api, stored: Stored, isNew: boolean): void => {
  const { node, log, word } = api;
  log('I', `${word}server`, `name = ${api.settings.name}`);
  log('I', `${word}server`, `data dir = ${api.settings.dataDir}`);
  if (isNew) log('I', `${word}server`, `starting member ${node.id} in cluster ${api.clusterId}`);
  else
    log(
      'I',
      `${word}server`,
      `restarting member ${node.id} in cluster ${api.clusterId} at commit index ${stored.commit}`,
    );
  log(
    'I',
    `${word}server`,
    `starting server... [version: ${api.version}, cluster version: ${node.machine.clusterVersion ?? 'to_be_decided'}]`,
  );
};
export const logVersion = ({ log, word }: Api, before: string | undefined, now: string): void => {
  if (before === undefined)
    log('N', `${word}server/membership`, `set the initial cluster version to ${minorOf(now)}`);
  else
    log(
      'N',
      `${word}server/membership`,
      `updated the cluster version from ${minorOf(before)} to ${minorOf(now)}`,
    );
  log('I', `${word}server/api`, `enabled capabilities for version ${minorOf(now)}`);
};

const logStorage = ({ log, word, node }: Api, version: string): void => {
  const isDown = node.machine.downgradeTo !== undefined;
  log(
    'I',
    `${word}server`,
    isDown ? 'The server is ready to downgrade' : `updated storage version to ${version}`,
  );
};

/** spec/store#versions-2: no way back once the cluster has the new version. */
export const mustNotBeOlder = (api: Api, fatal: Fatal): void => {
  const determined = api.node.machine.clusterVersion;
  if (determined === undefined || compareMinors(minorOf(api.version), minorOf(determined)) >= 0) return;
  // Members take the older version in while a downgrade to it is on.
  if (minorOf(api.node.machine.downgradeTo ?? '') === minorOf(api.version)) return;
  const text =
    compareMinors(minorOf(api.version), '3.5') >= 0
      ? 'invalid downgrade; server version is lower than determined cluster version'
      : `cluster cannot be downgraded (current version: ${api.version} is lower than determined cluster version: ${minorOf(determined)}).`;
  api.log('C', 'membership', text);
  fatal(text);
};

/** How long a member that was removed still answers: whoever asked for it hears of it, and the others get the entry. */
const LAST_BEATS = 10;
const lastWords = async (api: Api, removed: () => void): Promise<void> => {
  const { node, host, settings } = api;
  await host.sleep((LAST_BEATS / 2) * settings.heartbeatMs);
  if (node.raft.isLeading) await node.handOver();
  await host.sleep((LAST_BEATS / 2) * settings.heartbeatMs);
  removed();
};
const words = {
  'member-add': 'added member',
  'member-promote': 'promote member',
  'member-update': 'updated member',
  'member-remove': 'removed member',
} as const satisfies Record<MembershipChange['op'], string>;
const followChange = (api: Api, change: MembershipChange, removed: () => void): void => {
  const urls = 'peerUrls' in change ? ` [${change.peerUrls.join(' ')}]` : '';
  api.log('I', 'membership', `${words[change.op]} ${change.member}${urls}`);
  if (change.op === 'member-remove' && change.member === api.node.id) void lastWords(api, removed);
};

/** An alarm that was raised or disarmed. */
const followAlarm = (api: Api, command: Command & { op: 'alarm' }, fatal: Fatal): void => {
  const text = `alarm ${command.alarm} ${command.action === 'ACTIVATE' ? 'raised by peer' : 'disarmed for'} ${BigInt(command.member).toString(16)}`;
  api.log('W', `${api.word}server`, text);
  // spec/store#measured-answers: this one call ends every 3.2 member for good.
  if (command.alarm === 'NONE' && command.action === 'ACTIVATE' && api.form.minor === '3.2') {
    api.log('C', 'mvcc/backend', 'cannot put key into bucket (key required)');
    // The others must hear of it first, or they would live on.
    void api.host
      .sleep(5 * api.settings.heartbeatMs)
      .then(() => fatal('cannot put key into bucket (key required)'));
  }
};

/** Says and obeys what the cluster agrees on while the member runs. */
export const follow = (api: Api, fatal: Fatal, removed: () => void): void => {
  api.node.onRemoved = removed;
  let before = api.node.machine.clusterVersion;
  api.node.onFailure = (text) => {
    api.log('C', `${api.word}server`, `failed to save Raft hard state and entries (write: ${text})`);
    fatal(text);
  };
  api.node.onApplied = (command, result) => {
    if (command.op === 'cluster-version') {
      logVersion(api, before, command.version);
      before = command.version;
      if (api.form.has.downgrade) logStorage(api, command.version);
      mustNotBeOlder(api, fatal);
    } else if (isMembershipChange(command)) {
      if (result.ok) followChange(api, command, removed);
    } else if (command.op === 'alarm' && result.ok) followAlarm(api, command, fatal);
  };
};
