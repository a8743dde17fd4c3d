/** Settings that decide who may connect, on real servers: a next start that would drop one is refused. */
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { call, hasBinaries, type RealCluster, type RealMember, startCluster } from '../support/cluster.ts';
import { naming } from '../support/facts.ts';
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
const failures = async (): Promise<readonly string[]> =>
  ((await kv('check')).json().findings as { guard: string; level: string; message: string }[])
    .filter(({ guard, level }) => guard === 'configuration-fits' && level !== 'pass' && level !== 'warn')
    .map(({ level, message }) => `${level} ${message}`);
const versions = () =>
  Promise.all(
    cluster.urls.map(async (url) => JSON.parse((await call(`${url}/version`)).text).etcdserver.slice(0, 3)),
  );
/** Removes flags with their values from the next start. */
const without = (words: readonly string[], flags: readonly string[]): string[] =>
  words.filter((word, i) => {
    const before = words[i - 1] ?? '';
    const isValue = flags.includes(before) && !word.startsWith('--');
    return !flags.includes(word) && !isValue && !flags.some((flag) => word.startsWith(`${flag}=`));
  });
const dropping = (...flags: string[]): readonly RealMember[] =>
  cluster.members.map((member) => ({ ...member, new_command: without(member.new_command, flags) }));
const jwt = (): string => {
  const directory = makeDirectory();
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const [open, secret] = [join(directory, 'public.pem'), join(directory, 'private.pem')];
  writeFileSync(open, publicKey.export({ type: 'spki', format: 'pem' }));
  writeFileSync(secret, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  return `--auth-token=jwt,pub-key=${open},priv-key=${secret},sign-method=RS256,ttl=10m`;
};
/** The status for a request with the name of another host, as a browser sends it after DNS rebinding. */
const statusAs = (host: string, url: string): Promise<number> =>
  new Promise((resolve, reject) => {
    request(`${url}/health`, { headers: { host } }, (reply) => {
      reply.resume();
      resolve(reply.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });

/** The settings of a command line as a configuration file. */
const asFile = (words: readonly string[]): string => {
  const file: Record<string, unknown> = {};
  const section = (name: string): Record<string, unknown> => {
    file[name] ??= {};
    return file[name] as Record<string, unknown>;
  };
  for (const [i, word] of words.entries()) {
    if (!word.startsWith('--')) continue;
    const following = words[i + 1];
    const value = following === undefined || following.startsWith('--') ? true : following;
    const [, peer, key = ''] =
      /^--(peer-)?(cert-file|key-file|client-cert-auth|trusted-ca-file)$/.exec(word) ?? [];
    if (key === '') file[word.slice(2)] = value;
    else section(`${peer === undefined ? 'client' : 'peer'}-transport-security`)[key] = value;
  }
  return JSON.stringify(file);
};
/** Restarts the member from a configuration file with the same settings. */
const restartFromFile = async (): Promise<RealMember & { readonly config_file: string }> => {
  const [member] = cluster.members as [RealMember];
  const config_file = join(cluster.directory, 'n1.yaml');
  writeFileSync(config_file, asFile(member.old_command));
  const command = (binary: string): string[] => [binary, '--config-file', config_file];
  const changed = {
    ...{ ...member, config_file, old_command: command(member.old_binary) },
    new_command: command(member.new_binary),
  };
  cluster.kill(member, 'SIGTERM');
  await cluster.gone(member);
  cluster.start(changed);
  await cluster.healthy();
  return changed;
};

type Row = readonly [setting: string, flags: readonly string[], extra: () => readonly string[], tls: boolean];
const rows: readonly Row[] = [
  ['client-cert-auth', ['--client-cert-auth', '--trusted-ca-file'], () => [], true],
  ['peer-client-cert-auth', ['--peer-client-cert-auth', '--peer-trusted-ca-file'], () => [], true],
  ['auth-token', ['--auth-token'], () => [jwt()], false],
  ['host-whitelist', ['--host-whitelist'], () => ['--host-whitelist=127.0.0.1'], false],
];
describe.runIf(hasBinaries('3.4', '3.5'))('a next start without a setting about access', () => {
  it.each(rows)('without %s is refused, and no member is stopped', async (setting, flags, extra, tls) => {
    cluster = await startCluster({
      ...{ size: 1, from: '3.4', to: '3.5', extra: extra() },
      ...(tls ? { tls: {} } : {}),
    });
    expect(await failures()).toEqual([]);
    const before = cluster.members.map(cluster.pid);
    cluster.write({}, dropping(...flags));
    expect(await failures()).toEqual([naming(`fail n1: ${setting}`)]);
    const ran = await kv('upgrade', '--yes', '--accept', 'quorum-survives');
    expect([ran.code, ran.stderr]).toEqual([10, naming(`n1: ${setting}`)]);
    expect([await versions(), cluster.members.map(cluster.pid)]).toEqual([['3.4'], before]);
  });
  it('a configuration file that the new command does not name is refused', async () => {
    cluster = await startCluster({ size: 1, from: '3.4', to: '3.5', tls: {} });
    const [{ new_command }] = dropping('--client-cert-auth', '--trusted-ca-file', '--data-dir') as [
      RealMember,
    ];
    const fromFile = await restartFromFile();
    cluster.write({}, [fromFile]);
    expect(await failures()).toEqual([]);
    cluster.write({}, [{ ...fromFile, new_command }]);
    expect(await failures()).toEqual([
      naming('fail n1: client-cert-auth'),
      naming('fail n1', fromFile.config_file, 'data-dir', 'client-cert-auth'),
    ]);
    const ran = await kv('upgrade', '--yes', '--accept', 'quorum-survives');
    expect([ran.code, await versions()]).toEqual([10, ['3.4']]);
  });
  it('trusted-ca-file alone rejects clients from 3.4 on, so client-cert-auth may go', async () => {
    cluster = await startCluster({ size: 1, from: '3.4', to: '3.5', tls: {} });
    cluster.write({}, dropping('--client-cert-auth', '--peer-client-cert-auth'));
    expect(await failures()).toEqual([]);
  });
  it('a list of hosts rejects other hosts before and after the upgrade', async () => {
    cluster = await startCluster({
      ...{ size: 3, from: '3.4', to: '3.5', extra: ['--host-whitelist=127.0.0.1'] },
    });
    const rejected = () => Promise.all(cluster.urls.map((url) => statusAs('evil.example', url)));
    const before = await rejected();
    expect(before.every((status) => status >= 400)).toBe(true);
    const ran = await kv('upgrade', '--yes', '--accept-point-of-no-return');
    expect([ran.code, ran.code === 0 ? '' : ran.stderr]).toEqual([0, '']);
    expect([await versions(), await rejected()]).toEqual([['3.5', '3.5', '3.5'], before]);
  });
  it('a start script that drops the list of hosts is rolled back by the health check', async () => {
    cluster = await startCluster({ size: 3, from: '3.4', to: '3.5', extra: ['--host-whitelist=127.0.0.1'] });
    const directory = makeDirectory();
    const scripts = dropping('--host-whitelist').map((member) => {
      const script = join(directory, `${member.name}.sh`);
      writeFileSync(script, `#!/bin/sh\nexec ${member.new_command.join(' ')}\n`, { mode: 0o755 });
      return { ...member, new_command: [script] };
    });
    cluster.write({}, scripts);
    const ran = await kv('upgrade', '--yes', '--accept-point-of-no-return', '--accept', 'configuration-fits');
    expect([ran.code, ran.stderr]).toEqual([12, naming('other', 'host name')]);
    expect(await versions()).toEqual(['3.4', '3.4', '3.4']);
    expect(await Promise.all(cluster.urls.map((url) => statusAs('evil.example', url)))).toEqual([
      421, 421, 421,
    ]);
  });
});
