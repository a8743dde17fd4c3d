/**
 * An upgrade never opens access to a cluster. These real servers ignore a setting in the new version or
 * reject the certificates of their peers.
 */
import { spawn } from 'node:child_process';
import { openSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { certificateFiles } from '../support/certificates.ts';
import { call, hasBinaries, type RealCluster, type RealMember, startCluster } from '../support/cluster.ts';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

let cluster: RealCluster;
let home: string;
beforeEach(() => {
  home = makeDirectory();
});
afterEach(async () => {
  await cluster?.stop();
});
const kv = (...words: string[]) =>
  opsctl(['kv', ...words, '--cluster', cluster.file, '-o', 'json'], { home });
/** Returns whether a client without a certificate gets a response. */
const isOpen = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    request(`${url}/version`, { rejectUnauthorized: false, agent: false }, (reply) => {
      reply.resume();
      resolve(true);
    })
      .on('error', () => resolve(false))
      .end();
  });
const versions = () =>
  Promise.all(
    cluster.members.map(async ({ client_url }) =>
      (JSON.parse((await call(`${client_url}/version`)).text).etcdserver as string).slice(0, 3),
    ),
  );
const openMembers = async (): Promise<readonly boolean[]> =>
  Promise.all(cluster.urls.map((url) => isOpen(url)));
/**
 * A shorter health check timeout, because an unhealthy member will not recover here. The rollback has the same
 * limit: 8 s were too short for its old version on a loaded machine.
 */
const soon = { timeouts: { gate_seconds: 30 } };
/** Restarts the cluster with other commands. */
const startAgain = async (change: (member: RealMember) => Partial<RealMember>): Promise<void> => {
  const members = cluster.members.map((member) => ({ ...member, ...change(member) }));
  for (const member of cluster.members) cluster.kill(member, 'SIGTERM');
  await Promise.all(cluster.members.map(cluster.gone));
  for (const member of members) {
    const log = openSync(member.log_file, 'a');
    const [program, ...words] = member.old_command as [string, ...string[]];
    const stdio = ['ignore', log, log] as const;
    const child = spawn(program, words, {
      detached: true,
      stdio: [...stdio],
    });
    child.unref();
    writeFileSync(member.pid_file, `${child.pid}\n`);
  }
  await cluster.healthy();
  cluster.write({}, members);
};
/**
 * A configuration file of an old installation: 3.3 requires a client certificate because of `ca-file`, and
 * 3.4 ignores the setting.
 */
const configFor = ({ old_command: words, name }: RealMember): string => {
  const { ca, serverCert, serverKey } = cluster.certificates as NonNullable<RealCluster['certificates']>;
  const flags = ['name', 'data-dir', 'listen-client-urls', 'advertise-client-urls', 'listen-peer-urls']
    .concat(
      'initial-advertise-peer-urls',
      'initial-cluster',
      'initial-cluster-state',
      'initial-cluster-token',
    )
    .map((flag) => [flag, words[words.indexOf(`--${flag}`) + 1]]);
  const files = { 'cert-file': serverCert, 'key-file': serverKey };
  const path = join(cluster.directory, `${name}.yml`);
  writeFileSync(
    path,
    stringify({
      ...Object.fromEntries(flags),
      'client-transport-security': { ...files, 'ca-file': ca },
      'peer-transport-security': { ...files, 'trusted-ca-file': ca, 'client-cert-auth': true },
    }),
  );
  return path;
};
/** Peer certificates with a name only in their subject, which Go 1.15 and later ignore. */
const peersWithoutNames = (): string[] => {
  const { ca, serverCert, serverKey } = certificateFiles(home, { hosts: [], common: 'localhost' });
  return ['--peer-cert-file', serverCert, '--peer-key-file', serverKey, '--peer-trusted-ca-file', ca];
};

describe.runIf(hasBinaries('3.3', '3.4'))('an upgrade of a cluster that rejects clients', () => {
  it('an upgrade never opens a cluster when the new version ignores the setting', {
    timeout: 600_000,
  }, async () => {
    cluster = await startCluster({ size: 3, from: '3.3', to: '3.4', tls: {} });
    await startAgain((member) => {
      const config_file = configFor(member);
      const [old, fresh] = [member.old_binary, member.new_binary];
      const words = ['--config-file', config_file];
      return { old_command: [old, ...words], new_command: [fresh, ...words] };
    });
    expect(await openMembers()).toEqual([false, false, false]);
    const checked = await kv('check');
    expect(checked.code).toBe(20);
    const failed = checked.json().findings.filter(({ level }: { level: string }) => level === 'fail');
    expect(failed.map(({ guard }: { guard: string }) => guard)).toEqual(
      Array.from({ length: 3 }, () => 'configuration-fits'),
    );
    expect(failed[0].message).toContain('ca-file');
    expect((await kv('upgrade', '--yes')).code).toBe(10);
    expect(await versions()).toEqual(['3.3', '3.3', '3.3']);
    // Accepting the finding does not open access either: the health check verifies that the member still
    // rejects clients without a certificate.
    const accepted = await kv('upgrade', '--yes', '--accept', 'configuration-fits');
    expect([accepted.code, accepted.stderr]).toEqual([12, expect.stringContaining('without a certificate')]);
    expect([await versions(), await openMembers()]).toEqual([
      ['3.3', '3.3', '3.3'],
      [false, false, false],
    ]);
  });

  it('stops no second member when the new version rejects its peers', { timeout: 600_000 }, async () => {
    const peers = { peerHost: 'localhost', extra: peersWithoutNames() };
    process.env['GODEBUG'] = 'x509ignoreCN=0';
    cluster = await startCluster({ size: 3, from: '3.3', to: '3.4', tls: {}, ...peers }).finally(() => {
      delete process.env['GODEBUG'];
    });
    cluster.write(soon);
    const checked = await kv('check');
    expect(checked.code).toBe(20);
    const failed = checked.json().findings.filter(({ level }: { level: string }) => level === 'fail');
    expect(new Set(failed.map(({ guard }: { guard: string }) => guard))).toEqual(new Set(['certificates']));
    const accepted = await kv('upgrade', '--yes', '--accept', 'certificates');
    expect([accepted.code, accepted.stderr]).toEqual([12, expect.stringContaining('no connection between')]);
    expect(await versions()).toEqual(['3.3', '3.3', '3.3']);
    // The reverted process has the environment variable that 3.3 needs to reach its peers.
    await cluster.healthy();
    expect((await kv('check', '--accept', 'certificates')).code).toBe(0);
  });
});
