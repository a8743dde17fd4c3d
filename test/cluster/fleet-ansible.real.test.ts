import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { parse, stringify } from 'yaml';
import { freePorts } from '../../src/platform/node/ports.ts';
import { program, type Program } from '../support/built-program.ts';
import { type Binaries, binariesOf, hasBinaries, pair, pause } from '../support/cluster.ts';
import { type SshHost, type SshHosts, startSshHosts } from '../support/ssh-hosts.ts';
import { realAnsible } from '../real/services.mjs';
import { makeDirectory } from '../support/directory.ts';
import { hangTimer, unhurried } from '../support/hang.ts';
import { testInTurn } from '../support/slice.ts';

const { from, to } = pair;
const ansible = realAnsible();
const isPossible = hasBinaries(from, to) && !('missing' in ansible);
const { playbook: ansiblePlaybook, env: ansibleEnv } =
  'missing' in ansible ? { playbook: [''], env: {} } : ansible;
/** All hosts are this machine, so the local Ansible interpreter also runs the modules. */
const interpreter = ansiblePlaybook.length > 1 ? ansiblePlaybook[0] : 'auto';
let home: Program;
let directory: string;
let net: SshHosts | undefined;
const pidFiles: string[] = [];
beforeEach(async () => {
  home = program();
  directory = makeDirectory();
  // Other users log in to this directory.
  chmodSync(directory, 0o755);
  net = await startSshHosts(join(directory, 'ssh'));
});
afterEach(() => {
  for (const file of pidFiles.splice(0)) spawnSync('sh', ['-c', `kill -9 "$(cat '${file}')" 2>/dev/null`]);
  net?.close();
});

/**
 * Three real members on one of the hosts. If the host has a separate network, other hosts cannot reach them.
 */
const clusterOn = async (host: SshHost, name: string, newBinary: string): Promise<string> => {
  const [old, fresh] = [binariesOf(from) as Binaries, binariesOf(to) as Binaries];
  const ports = await freePorts(6);
  const place = join(directory, name);
  mkdirSync(place);
  const at = (n: number): string => `http://127.0.0.1:${ports[n]}`;
  const initial = [0, 1, 2].map((i) => `n${i + 1}=${at(2 * i + 1)}`).join(',');
  const members = [0, 1, 2].map((i) => {
    const member = `n${i + 1}`;
    const [client, peer] = [at(2 * i), at(2 * i + 1)];
    const data = join(place, `${member}.data`);
    const words = [
      ...[
        '--name',
        member,
        '--data-dir',
        data,
        '--listen-client-urls',
        client,
        '--advertise-client-urls',
        client,
      ],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', initial],
    ];
    const files = { pid_file: join(place, `${member}.pid`), log_file: join(place, `${member}.log`) };
    const log = openSync(files.log_file, 'a');
    const [command, ...rest] = [
      ...host.prefix,
      'sh',
      '-c',
      'echo $$ > "$0"; exec "$@"',
      files.pid_file,
      old.server,
      ...words,
    ];
    spawn(command as string, rest, { detached: true, stdio: ['ignore', log, log] }).unref();
    pidFiles.push(files.pid_file);
    const binaries = { old_binary: old.server, new_binary: newBinary === '' ? fresh.server : newBinary };
    return {
      name: member,
      client_url: client,
      peer_url: peer,
      data_dir: data,
      ...files,
      ...binaries,
      old_command: words,
      new_command: words,
    };
  });
  const file = join(place, `${name}.yaml`);
  writeFileSync(file, stringify({ name, to, driver: 'local', timeouts: unhurried, members }));
  return file;
};

/** Runs read-only commands on the host, because its network is separate. */
const onHost = (
  host: SshHost,
  ...words: string[]
): { status: number | null; stdout: string; stderr: string } => {
  const [command, ...rest] = [
    ...host.prefix,
    process.execPath,
    join(import.meta.dirname, '../../bin/opsctl.js'),
    ...words,
  ];
  return spawnSync(command as string, rest, {
    encoding: 'utf8',
    env: { ...process.env, OPSCTL_HOME: home.home, CI: 'true' },
  });
};
const healthy = async (host: SshHost, file: string): Promise<void> => {
  for (const isHung = hangTimer(); !isHung(); ) {
    if (onHost(host, 'kv', 'status', '--cluster', file, '-o', 'json').status === 0) return;
    await pause(500);
  }
  throw new Error(`${file} did not become healthy`);
};
/**
 * Returns the version of each member after every member has reported it. On a busy machine a member may be
 * late.
 */
const versionsOf = async (host: SshHost, file: string): Promise<string[]> => {
  for (const isHung = hangTimer(); !isHung(); ) {
    const { members } = JSON.parse(onHost(host, 'kv', 'status', '--cluster', file, '-o', 'json').stdout);
    const versions: (string | undefined)[] = members.map(({ server_version }: { server_version?: string }) =>
      server_version?.slice(0, 3),
    );
    if (versions.every((version) => version !== undefined)) return versions;
    await pause(500);
  }
  throw new Error(`a member of ${file} never said its version`);
};

describe.runIf(isPossible)('a fleet run by the real ansible', () => {
  testInTurn(0, 2)(
    'six clusters on three hosts behind real sshd: the canary, waves, stop at the first failure; then the rest',
    async () => {
      if (net === undefined) return;
      const { hosts, config } = net;
      const fresh = (binariesOf(to) as Binaries).server;
      // A program that prints its version and exits, so opsctl immediately reverts its member.
      const broken = join(directory, 'broken-server');
      writeFileSync(broken, `#!/bin/sh\n[ "$1" = --version ] && exec '${fresh}' --version\nexit 1\n`);
      chmodSync(broken, 0o755);
      const names = ['c1', 'c2', 'c3', 'c4', 'c5', 'c6'];
      const hostOf = (name: string): SshHost => hosts[names.indexOf(name) % 3] as SshHost;
      const files = await Promise.all(
        names.map((name) => clusterOn(hostOf(name), name, name === 'c4' ? broken : '')),
      );
      const fileOf = (name: string): string => files[names.indexOf(name)] as string;
      await Promise.all(names.map((name) => healthy(hostOf(name), fileOf(name))));
      const fleet = join(directory, 'fleet.yaml');
      writeFileSync(
        fleet,
        stringify({
          name: 'shops',
          canary: 'c2/c2.yaml',
          at_once: 2,
          clusters: names.map((name) => `${name}/${name}.yaml`),
        }),
      );
      const emit = (engine: string): Promise<{ stdout: string; code: number | null }> =>
        home.run(['kv', 'fleet', fleet, '--accept-point-of-no-return', '--emit', engine]);
      const [playbook, inventory] = [join(directory, 'playbook.yaml'), join(directory, 'inventory.yaml')];
      writeFileSync(playbook, (await emit('ansible')).stdout);
      // As an operator would, the test sets the location of opsctl in the inventory.
      const given = parse((await emit('ansible-inventory')).stdout);
      const { hosts: rows } = given.all.children.etcd_clusters;
      for (const name of Object.keys(rows)) {
        delete rows[name].ansible_connection;
        Object.assign(rows[name], {
          ansible_host: hostOf(name).name,
          ansible_ssh_common_args: `-F ${config}`,
        });
      }
      const wrapper = join(directory, 'opsctl');
      writeFileSync(
        wrapper,
        `#!/bin/sh\nOPSCTL_HOME='${home.home}' CI=true exec '${process.execPath}' '${join(import.meta.dirname, '../../bin/opsctl.js')}' "$@"\n`,
      );
      chmodSync(wrapper, 0o755);
      given.all.vars = {
        opsctl_program: wrapper,
        opsctl_poll_seconds: 1,
        ansible_python_interpreter: interpreter,
      };
      writeFileSync(inventory, stringify(given));
      const play = (): Promise<{ code: number | null; text: string }> => {
        const [command, ...first] = ansiblePlaybook;
        const child = spawn(command as string, [...first, '-i', inventory, playbook], {
          env: {
            ...process.env,
            ...ansibleEnv,
            ANSIBLE_HOME: join(directory, 'ansible'),
            // A control connection of an earlier run refers to a host that no longer exists.
            ANSIBLE_SSH_CONTROL_PATH_DIR: join(directory, 'cp'),
            ANSIBLE_LOCAL_TEMP: join(directory, 'ansible/tmp'),
            ANSIBLE_REMOTE_TEMP: join(directory, 'remote'),
            ANSIBLE_HOST_KEY_CHECKING: 'False',
            ANSIBLE_NOCOLOR: '1',
            LC_ALL: 'C.UTF-8',
          },
        });
        let text = '';
        for (const stream of [child.stdout, child.stderr])
          stream.setEncoding('utf8').on('data', (part: string) => (text += part));
        return new Promise((resolve) => child.once('close', (code) => resolve({ code, text })));
      };
      const recap = (text: string): string[] =>
        text.split('\n').flatMap((line) => {
          const found = /^(c\d)\s+:.*failed=(\d)/.exec(line);
          return found === null ? [] : [`${found[1]} failed=${found[2]}`];
        });
      const first = await play();
      expect(first.code, first.text).toBe(2);
      expect(recap(first.text), first.text).toContain('c4 failed=1');
      // The canary is c2, and the wave is c1 and c3. Then c4 fails next to c5, and c6 does not start.
      const state = async (): Promise<string[]> => {
        const found: string[] = [];
        for (const name of names)
          found.push(`${name} ${[...new Set(await versionsOf(hostOf(name), fileOf(name)))].join(',')}`);
        return found;
      };
      expect(await state()).toEqual([
        `c1 ${to}`,
        `c2 ${to}`,
        `c3 ${to}`,
        `c4 ${from}`,
        `c5 ${to}`,
        `c6 ${from}`,
      ]);
      // After the repair, the same playbook finishes the remaining clusters and does not change the others.
      writeFileSync(
        fileOf('c4'),
        stringify({
          ...parse(spawnSync('cat', [fileOf('c4')], { encoding: 'utf8' }).stdout.replaceAll(broken, fresh)),
        }),
      );
      const second = await play();
      expect(second.code, second.text).toBe(0);
      expect(await state()).toEqual(names.map((name) => `${name} ${to}`));
    },
  );
});
