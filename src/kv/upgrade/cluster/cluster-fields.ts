import { any, bool, help, int, list, map, obj, oneOf, req, str, url } from '../../../core/field.ts';
import type { Fields } from '../../../core/field.ts';
import { driverKinds, experimentalText, remoteKinds } from './drivers.ts';

const line = (summary: string) =>
  help(
    any(),
    `${summary}; a list of words, or one line that is split like a shell splits words. Write absolute paths in it`,
  );
const path = (summary: string, relativeTo: string) =>
  help(str(4096, { min: 1 }), `${summary}; relative to ${relativeTo}`);
const here = (summary: string) => path(summary, 'this file');
const there = (summary: string) => path(summary, 'this file, with driver ssh a path of its host');
const program = (summary: string) =>
  path(summary, 'this file unless it is a bare name; with driver ssh a path of its host');

const hookFields = {
  stop: line('Stops the member'),
  kill: line('Ends the process of the member without asking it; used after timeouts.stop_seconds'),
  start_old: line('Starts the member with its old binary'),
  start_new: line('Starts the member with its new binary'),
  is_running: line(
    "Exit 0 when the member's process runs, 75 while it is being started, 77 when that cannot be told",
  ),
  new_version: line('Prints the version of the new binary'),
  old_version: line('Prints the version of the old binary'),
  log: line("Prints the end of the member's log"),
  before_member: line('Runs here before a member is stopped'),
  after_member: line('Runs here after a member has passed its health check'),
} as const satisfies Fields;

/** Names become parts of file names and arguments of programs: `..`, a leading dash and a leading dot are not names. */
export const namePattern = '^[A-Za-z0-9_][A-Za-z0-9._-]*$';

const memberFields = {
  name: req(str(255, { min: 1, pattern: '^[A-Za-z0-9._-]+$' })),
  client_url: req(help(url(), 'URL of the client interface, http://host:2379')),
  peer_url: help(url(), 'URL of the peer interface'),
  data_dir: there("The member's data directory"),
  wal_dir: there(
    'Directory of the write-ahead log, if it is outside of data_dir and opsctl cannot read that setting',
  ),
  pid_file: there('local: file with the process id'),
  log_file: there('local: file that gets the output of the process'),
  old_binary: program('Server program of the running version'),
  new_binary: program('Server program of the version to go to'),
  old_command: line('local: command line of the running version'),
  new_command: line('local: command line of the version to go to'),
  config_file: there('Configuration file that is rewritten for the new version between stop and start'),
  new_config_file: here('New text of config_file, a file of this machine; only kv restart uses it'),
  env: help(
    map(str()),
    'local: environment added for the process; ETCD_INITIAL_ELECTION_TICK_ADVANCE=false is, unless set here',
  ),
  host: help(str(255, { min: 1 }), 'ssh: [user@]host, or a name of the ssh configuration'),
  unit: help(str(255, { min: 1 }), 'systemd: the unit'),
  binary_path: there('systemd: path that the unit starts; new_binary is put there'),
  container: help(str(255, { min: 1 }), 'docker: the container'),
  old_image: help(str(1024, { min: 1 }), 'docker, static-pod: image of the running version'),
  new_image: help(str(1024, { min: 1 }), 'docker, static-pod: image of the version to go to'),
  manifest: there('static-pod: the manifest that the kubelet watches'),
} as const satisfies Fields;

const tlsFields = {
  ca_file: here("PEM file with the authorities that signed the members' certificates"),
  cert_file: here('PEM file with the client certificate, where the members demand one'),
  key_file: here('PEM file with the key of cert_file, without a passphrase'),
  server_name: help(
    str(255, { min: 1 }),
    "Name in the members' certificates, when it is not the host of their client_url",
  ),
} as const satisfies Fields;

const userFields = {
  name: req(
    help(str(undefined, { min: 1 }), 'User of the store; with authentication on it needs the root role'),
  ),
  password_file: here('File with the password'),
  password_env: help(
    str(undefined, { min: 1 }),
    'Environment variable with the password (default OPSCTL_KV_PASSWORD)',
  ),
} as const satisfies Fields;

const s3Fields = {
  endpoint: help(url(), 'URL of an S3-compatible service (default: AWS_ENDPOINT_URL_S3, else AWS)'),
  region: help(str(64, { min: 1 }), 'Region of the bucket (default: AWS_REGION)'),
  addressing: help(
    oneOf('path', 'virtual'),
    'Bucket in the path or in the host name (default: path with an endpoint, else virtual)',
  ),
} as const satisfies Fields;

export const clusterFields = {
  name: req(
    help(
      str(128, { min: 1, pattern: '^[A-Za-z0-9._-]+$' }),
      'Name of the cluster: typed to confirm, and part of file names',
    ),
  ),
  to: help(
    str(16, { pattern: '^\\d+\\.\\d+$' }),
    'Version to go to, 3.4 (default: the next one after the running version)',
  ),
  driver: help(
    oneOf(...driverKinds),
    `How members are stopped and started (default local); ${experimentalText}`,
  ),
  members: req(list(obj(memberFields), { min: 1, max: 99 })),
  hooks: obj(hookFields),
  ssh: obj({
    options: list(str()),
    proxy_jump: str(),
    sudo: bool(),
    // biome-ignore lint/suspicious/noThenProperty: a key of the cluster file
    then: oneOf(...remoteKinds),
  }),
  tls: help(obj(tlsFields), 'For members with https:// URLs'),
  user: help(obj(userFields), 'For a store with authentication'),
  ctl_binary: path(
    'Program of the store that restores snapshots (etcdctl, from 3.6 on etcdutl); only `kv restore` and `kv rehearse` need it',
    'this file unless it is a bare name',
  ),
  utl_binary: path(
    "etcdutl of the running version; from 3.5 to 3.6 it looks for v2 data in each stopped member's directory (driver local)",
    'this file unless it is a bare name',
  ),
  snapshot_dir: here('Directory for snapshots, or s3://BUCKET/PREFIX (default: the state directory)'),
  s3: help(obj(s3Fields), 'For snapshot_dir in a bucket; credentials come from the environment'),
  timeouts: obj({
    stop_seconds: help(
      int({ min: 1, max: 3600 }),
      'Time a member has to end by itself after it was asked to (default 120)',
    ),
    gate_seconds: help(int({ min: 1, max: 3600 }), 'Time a member has to show that it is good (default 60)'),
    stable_seconds: help(
      int({ min: 0, max: 3600 }),
      'Time a member must stay good before the next one (default 1)',
    ),
    stable_before_last_seconds: help(
      int({ min: 0, max: 86_400 }),
      'Time all upgraded members must have been good together before the last member of the old version is stopped (default 10)',
    ),
    snapshot_seconds: help(
      int({ min: 1, max: 3600 }),
      'Time a snapshot may give no byte before it is asked for once more (default 8)',
    ),
  }),
  simulated: help(bool(), 'Set by `mock kv start`: a rehearsal, not a database'),
} as const satisfies Fields;
