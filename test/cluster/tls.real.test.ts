import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Host } from '../../src/platform/host.ts';
import { type Program, program } from '../support/built-program.ts';
import { type CertificateFiles, makeAuthority } from '../support/certificates.ts';
import {
  type Binaries,
  type RealCluster,
  binariesOf,
  call,
  hasBinaries,
  missingWrites,
  pair,
  startCluster,
  startWriter,
} from '../support/cluster.ts';
import { type ProgramOptions, type Ran, opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';
import { errorOf } from '../support/facts.ts';

const { from, to, prefix } = pair;
let cluster: RealCluster;
let own: RealCluster | undefined;
let home: string;
let built: Program;
beforeEach(() => {
  home = makeDirectory();
});
afterEach(async () => {
  await own?.stop();
  own = undefined;
});

const files = (): CertificateFiles => cluster.certificates as CertificateFiles;
const flags = ({ ca, cert, key } = files()): string[] => ['--cacert', ca, '--cert', cert, '--key', key];
const endpoints = ({ urls } = cluster): string => urls.map((url) => url.replace('https://', '')).join(',');
const kv = (words: readonly string[], options: Partial<ProgramOptions> = {}): Promise<Ran> =>
  opsctl(['kv', ...words], { home, ...options });
const byFile = (...words: string[]): Promise<Ran> => kv([...words, '--cluster', cluster.file, '-o', 'json']);
const byFlags = (...words: string[]): Promise<Ran> =>
  kv([...words, '--endpoints', endpoints(), ...flags(), '-o', 'json']);
const error = (ran: Ran): { code: string; message: string; exit_code: number } => errorOf(ran);
const good = (ran: Ran): any => {
  expect(ran.code === 0 ? '' : ran.stderr).toBe('');
  return ran.json();
};
const ctlOf = (minor: string): string => (binariesOf(minor) as Binaries).ctl;
const serverVersion = async (url: string): Promise<string> =>
  JSON.parse((await call(`${url}/version`)).text).etcdserver;

/** Returns the text of all files below a directory. */
const written = (directory: string): string =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))
    .join('\n');
/** Verifies that the text contains no line of the private key. */
const tellsNoKey = (text: string, key: string): void => {
  for (const line of key.trim().split('\n').slice(1, -1)) expect(text).not.toContain(line);
  expect(text).not.toContain('PRIVATE KEY');
};

const real = describe.runIf(hasBinaries(from, to));
real('members that demand certificates', () => {
  beforeAll(async () => {
    cluster = await startCluster({
      size: 3,
      from,
      to,
      tls: {},
      settings: ctlOf(from) === '' ? {} : { ctl_binary: ctlOf(from) },
    });
    built = program();
  });
  afterAll(async () => {
    await cluster?.stop();
  });
  // Restores a changed cluster file.
  afterEach(() => cluster.write({}));

  it.each([
    ['the cluster file', byFile],
    ['flags', byFlags],
  ])('every command that looks, with certificates of %s', async (_, run) => {
    expect(good(await run('health')).map(({ health }: { health: string }) => health)).toEqual([
      'true',
      'true',
      'true',
    ]);
    expect(good(await run('endpoint', 'health')).every(({ health }: { health: boolean }) => health)).toBe(
      true,
    );
    expect(
      good(await run('endpoint', 'status')).filter(({ is_leader }: { is_leader: boolean }) => is_leader),
    ).toHaveLength(1);
    expect(
      good(await run('version')).map(({ kvserver }: { kvserver: string }) => kvserver.slice(0, 3)),
    ).toEqual([from, from, from]);
    good(await run('put', 'greeting', 'hello'));
    expect(good(await run('get', 'greeting')).value).toBe('hello');
    expect(good(await run('get', '', '--prefix')).length).toBeGreaterThan(0);
    expect(good(await run('del', 'greeting')).deleted).toBe(1);
    expect(
      good(await run('member', 'list')).flatMap(({ client_urls }: { client_urls: string[] }) => client_urls),
    ).toEqual(expect.arrayContaining([...cluster.urls]));
    expect(good(await run('alarm', 'list'))).toEqual([]);
    expect(good(await run('status')).leader).toBeDefined();
  });

  it('kv certs lists the certificates that the members present, their files, and the client certificate', async () => {
    const rows = good(await byFile('certs'));
    for (const { name } of cluster.members)
      expect(rows.filter(({ member }: any) => member === name).map(({ role }: any) => role)).toContain(
        'server',
      );
    expect(rows.filter(({ role }: any) => role === 'client')).toHaveLength(1);
    const days = rows.map(({ days_left }: any) => days_left);
    expect(days).toEqual(days.toSorted((a: number, b: number) => a - b));
    const within = await byFile('certs', '--expires-within', `${(days[0] + 1) * 24}h`);
    expect([within.code, within.stderr.includes('expires at')]).toEqual([20, true]);
  });
  it('a snapshot comes over HTTP/2 and TLS, and is good', async () => {
    const seen: string[] = [];
    const watched = (host: Host): Host => {
      const request: Host['network']['request'] = async (given) => {
        const reply = await host.network.request(given);
        seen.push(
          `${given.transport ?? 'http1'} ${new URL(given.url).protocol} ${reply.status} ${reply.headers['content-type']?.split(';')[0]}`,
        );
        return reply;
      };
      return { ...host, network: { ...host.network, request } };
    };
    const file = join(home, 'one.db');
    const saved = await kv(
      ['snapshot', 'save', file, '--member', 'n2', '--cluster', cluster.file, '-o', 'json'],
      { host: watched },
    );
    expect(good(saved)).toMatchObject({ member: 'n2', size_bytes: expect.any(Number) });
    expect(seen).toContain('http2 https: 200 application/grpc');
    expect(seen.some((line) => line.includes('maintenance/snapshot'))).toBe(false);
    good(await kv(['snapshot', 'verify', file, '-o', 'json']));
    good(
      await kv([
        'snapshot',
        'save',
        file,
        '--endpoints',
        endpoints().split(',')[0] as string,
        ...flags(),
        '-o',
        'json',
      ]),
    );
  });

  it('files of the cluster file are relative to it, for any current directory', async () => {
    const { ca, cert, key } = files();
    cluster.write({
      tls: { ca_file: basename(ca), cert_file: `./${basename(cert)}`, key_file: basename(key) },
    });
    good(await kv(['health', '--cluster', cluster.file, '-o', 'json'], { cwd: '/' }));
    const typed = ['--cacert', basename(ca), '--cert', basename(cert), '--key', basename(key)];
    good(
      await kv(['health', '--endpoints', endpoints(), ...typed, '-o', 'json'], { cwd: cluster.directory }),
    );
    cluster.write({ tls: { ca_file: 'other.pem', cert_file: basename(cert), key_file: basename(key) } });
    good(await kv(['health', '--cluster', cluster.file, '--cacert', ca, '-o', 'json']));
  });

  /**
   * Title, settings under `tls:`, expected message, and whether a file is invalid before any connection. The
   * latter determines the exit codes.
   */
  type Mistake = [
    title: string,
    tls: (of: CertificateFiles) => Record<string, string | undefined>,
    said: RegExp,
    isOfFile: boolean,
  ];
  const other = makeAuthority('another authority');
  const mistakes: Mistake[] = [
    [
      'the file of the authority is missing',
      () => ({ ca_file: '/nowhere/ca.pem' }),
      /(--cacert |tls\.ca_file \()\/nowhere\/ca\.pem\)? does not exist/,
      true,
    ],
    [
      'it is no PEM',
      (of) => ({ ca_file: of.add('text.pem', 'hello') }),
      /text\.pem\)? holds no certificate in PEM form/,
      true,
    ],
    [
      'it is cut off',
      (of) => ({ ca_file: of.add('cut.pem', of.authority.cert.replace(/\n.{20}/, '\n')) }),
      /cut\.pem\)? .*truncated/,
      true,
    ],
    [
      'it is a directory',
      (of) => ({ ca_file: of.directory }),
      /is a directory; use the path of the file in it/,
      true,
    ],
    [
      'another authority',
      (of) => ({ ca_file: of.add('other.pem', other.cert) }),
      /not signed by an authority in .*other\.pem.*use the file/,
      false,
    ],
    [
      'no authority',
      () => ({ ca_file: undefined }),
      /not signed by a trusted authority; set .*--cacert, or as ca_file/,
      false,
    ],
    [
      'no client certificate',
      () => ({ cert_file: undefined, key_file: undefined }),
      /requires a client certificate; set one with --cert and --key, or as cert_file and key_file/,
      false,
    ],
    [
      'a client certificate of another authority',
      (of) => {
        const pair = other.issue({ uses: ['client'] });
        return { cert_file: of.add('foreign.pem', pair.cert), key_file: of.add('foreign-key.pem', pair.key) };
      },
      /rejected the client certificate of .*foreign\.pem/,
      false,
    ],
    [
      'an expired client certificate',
      (of) => {
        const pair = of.authority.issue({ from: -48, until: -24 });
        return { cert_file: of.add('old.pem', pair.cert), key_file: of.add('old-key.pem', pair.key) };
      },
      /old\.pem\)? is a client certificate that has expired \(\d{4}-\d\d-\d\d\)/,
      true,
    ],
    [
      'the key of another certificate',
      (of) => ({ key_file: of.add('stray-key.pem', of.authority.issue().key) }),
      /stray-key\.pem\)? is not the key of .*client\.pem/,
      true,
    ],
    [
      'certificate and key swapped',
      (of) => ({ cert_file: of.key, key_file: of.cert }),
      /client-key\.pem\)? contains a private key and no certificate/,
      true,
    ],
    [
      'no key',
      () => ({ key_file: undefined }),
      /^(--key is required with --cert|tls\.key_file is required with tls\.cert_file)/,
      true,
    ],
    [
      'no certificate to the key',
      () => ({ cert_file: undefined }),
      /^(--cert is required with --key|tls\.cert_file is required with tls\.key_file)/,
      true,
    ],
  ];
  it.each(mistakes)('%s: one clear line, without changes', async (_, change, said, isOfFile) => {
    const before = cluster.members.map(cluster.pid);
    const { ca, cert, key } = files();
    const tls = { ca_file: ca, cert_file: cert, key_file: key, ...change(files()) };
    const typed = [
      ['--cacert', tls.ca_file] as const,
      ['--cert', tls.cert_file] as const,
      ['--key', tls.key_file] as const,
    ];
    const given = typed.flatMap(([flag, path]) => (path === undefined ? [] : [flag, path]));
    cluster.write({ tls });
    const urls = isOfFile ? endpoints() : cluster.urls.join(',');
    const [ran, flagged, upgrade] = [
      await byFile('get', 'x'),
      await kv(['get', 'x', '--endpoints', urls, ...given, '-o', 'json']),
      await byFile('upgrade', '--yes', '--accept-point-of-no-return'),
    ];
    for (const one of [ran, flagged, upgrade]) {
      expect(
        error(one)
          .message.replace(/^no changes were made: cannot query \w+: /, '')
          .replace(/^127\.0\.0\.1:\d+: /, ''),
      ).toMatch(said);
      expect(error(one).message).not.toContain('\n');
      expect(one.waitedMs).toBeLessThan(2000);
      tellsNoKey(one.stdout + one.stderr, readFileSync(key, 'utf8'));
    }
    expect([ran.code, flagged.code, upgrade.code]).toEqual(isOfFile ? [3, 2, 3] : [11, 11, 10]);
    expect(cluster.members.map(cluster.pid)).toEqual(before);
    expect(written(home)).not.toContain('"kind":"opened"');
  });

  it('http:// for a TLS port is reported as such', async () => {
    const plain = cluster.members.map((member) => ({
      ...member,
      client_url: member.client_url.replace('https', 'http'),
    }));
    cluster.write({}, plain);
    for (const get of [
      () => byFile('get', 'x'),
      () => kv(['get', 'x', '--endpoints', endpoints(), '-o', 'json']),
    ]) {
      const ran = await get();
      expect(ran.code).toBe(11);
      expect(error(ran).message).toMatch(
        /^127\.0\.0\.1:\d+: it uses TLS; write https:\/\/ in its URL \(client_url in the cluster file, or --endpoints\)/,
      );
      expect(ran.waitedMs).toBeLessThan(2000);
    }
    const upgrade = await byFile('upgrade', '--yes', '--accept-point-of-no-return');
    expect([upgrade.code, error(upgrade).message]).toEqual([
      10,
      expect.stringMatching(/cannot query n1: .* it uses TLS; write https/),
    ]);
  });

  it('kv init writes a cluster file with the certificates and whole commands', async () => {
    const file = join(home, 'mine.yaml');
    const words = [
      'init',
      '--endpoints',
      endpoints().split(',')[0] as string,
      ...flags(),
      '--new-binary',
      (binariesOf(to) as Binaries).server,
    ];
    const made = good(await kv([...words, '--out', file, '-o', 'json']));
    expect(made.to_fill_in).toEqual([]);
    const content = parse(readFileSync(file, 'utf8'));
    const { ca, cert, key } = files();
    expect(content.tls).toEqual({ ca_file: ca, cert_file: cert, key_file: key });
    expect(content.members.map(({ client_url }: { client_url: string }) => client_url).sort()).toEqual(
      [...cluster.urls].sort(),
    );
    for (const { new_command } of content.members)
      expect(new_command).toEqual(expect.arrayContaining(['--client-cert-auth', '--peer-trusted-ca-file']));
    expect(good(await kv(['plan', '--cluster', file, '-o', 'json'])).steps.length).toBeGreaterThan(12);
  });

  it.runIf(hasBinaries(from, to) && ctlOf(from) !== '')(
    'kv rehearse copies the cluster without its certificates',
    async () => {
      const ended = await built.run([
        'kv',
        'rehearse',
        '--cluster',
        cluster.file,
        '--stable-for',
        '0',
        '--real',
        '-o',
        'json',
      ]);
      expect(ended.code, ended.stderr).toBe(0);
      expect(JSON.parse(ended.stdout)).toMatchObject({ ok: true, mode: 'real servers', outcome: 'done' });
      expect(await serverVersion(cluster.urls[0] as string)).toMatch(new RegExp(`^${from}\\.`));
    },
  );

  it('a whole upgrade under a constant writer loses no data, and prints no key', async () => {
    const writer = startWriter(cluster.urls);
    const ran = await kv([
      'upgrade',
      '--cluster',
      cluster.file,
      '--yes',
      '--accept-point-of-no-return',
      '--stable-for',
      '0',
      '-v',
      '-o',
      'json',
    ]);
    const { acknowledged, failed } = await writer.stop();
    const report = good(ran);
    expect(report).toMatchObject({ outcome: 'done', cluster_version_after: `${to}.0` });
    // Other unexpected log lines depend on the machine, but no line may concern certificates.
    expect(
      report.unexpected_log_lines.filter(({ line }: { line: string }) =>
        /tls|certificate|handshake|x509/i.test(line),
      ),
    ).toEqual([]);
    expect(report.snapshots).toHaveLength(3);
    expect(failed).toBe(0);
    expect(acknowledged.length).toBeGreaterThan(100);
    for (const url of cluster.urls) {
      expect(await serverVersion(url)).toMatch(new RegExp(`^${to}\\.`));
      expect(await missingWrites(url, acknowledged)).toEqual([]);
    }
    const { key, serverKey } = files();
    for (const path of [key, serverKey])
      tellsNoKey(ran.stdout + ran.stderr + written(home), readFileSync(path, 'utf8'));
  });
});

const isSoak = process.env['OPSCTL_SOAK'] === '1';
const secrets = { root: 'sesame-open' };
/** Enables authentication with a root user, which must exist first. */
const switchAuthOn = async (url: string): Promise<void> => {
  const steps: [path: string, body: unknown][] = [
    ['user/add', { name: 'root', password: secrets.root }],
    ['role/add', { name: 'root' }],
    ['user/grant', { user: 'root', role: 'root' }],
    ['enable', {}],
  ];
  for (const [path, body] of steps)
    expect((await call(`${url}${prefix}/auth/${path}`, body)).status).toBe(200);
};

real('certificates of members that are not as they should be', () => {
  const single = async (tls: object): Promise<(...words: string[]) => Promise<Ran>> => {
    const started = await startCluster({ size: 1, from, to, tls });
    own = started;
    return (...words) => kv([...words, '--cluster', started.file, '-o', 'json']);
  };
  it('another name: server_name and --server-name fix it', async () => {
    const run = await single({ hosts: ['kv.example', '10.9.8.7'] });
    const refused = await run('get', 'x');
    expect(refused.code).toBe(11);
    expect(error(refused).message).toMatch(
      /its certificate is for kv\.example, 10\.9\.8\.7, not for 127\.0\.0\.1; set one of its names as server_name/,
    );
    expect((await run('get', 'x', '--server-name', 'kv.example')).code).toBe(6);
    const { ca, cert, key } = (own as RealCluster).certificates as CertificateFiles;
    own?.write({ tls: { ca_file: ca, cert_file: cert, key_file: key, server_name: 'kv.example' } });
    good(await run('put', 'x', 'y'));
    good(await run('snapshot', 'save', join(home, 'x.db')));
    own?.write({ tls: { ca_file: ca, cert_file: cert, key_file: key, server_name: 'wrong.example' } });
    expect(error(await run('get', 'x')).message).toContain('set one of its names as server_name');
  });
  it('expired', async () => {
    const run = await single({ from: -48, until: -24 });
    const ran = await run('get', 'x');
    expect([ran.code, error(ran).code]).toEqual([11, 'TLS']);
    expect(error(ran).message).toMatch(
      /^127\.0\.0\.1:\d+: its certificate has expired; renew it on the member/,
    );
  });
  it("certificates not made for clients: the member's gateway cannot use them, so gRPC is used", async () => {
    const run = await single({ uses: ['server'] });
    const url = own?.urls[0] as string;
    expect((await call(`${url}${prefix}/maintenance/status`, {})).status).toBe(503);
    good(await run('put', 'x', 'y'));
    expect(good(await run('get', 'x')).value).toBe('y');
    expect(good(await run('status')).leader).toBe('n1');
    expect(good(await run('check', '--accept', 'quorum-survives')).ok).toBe(true);
  });
  it('https:// where no TLS is spoken', async () => {
    own = await startCluster({ size: 1, from, to });
    const url = (own.urls[0] as string).replace('http:', 'https:');
    const ran = await kv(['get', 'x', '--endpoints', url, '-o', 'json']);
    expect(ran.code).toBe(11);
    expect(error(ran).message).toMatch(/it does not use TLS; write http:\/\/ in its URL/);
    expect(ran.waitedMs).toBeLessThan(2000);
  });
});

real('certificates and authentication together', () => {
  const settings = async (size: number): Promise<{ tls: Record<string, string>; started: RealCluster }> => {
    const started = await startCluster({ size, from, to, tls: { common: 'n1.kv.example' } });
    own = started;
    await switchAuthOn(started.urls[0] as string);
    const { ca, authority, add } = started.certificates as CertificateFiles;
    const named = authority.issue({ common: 'root', uses: ['client'] });
    return {
      started,
      tls: { ca_file: ca, cert_file: add('root.pem', named.cert), key_file: add('root-key.pem', named.key) },
    };
  };

  it('the user of a client certificate is enough, though the gateway does not know it', async () => {
    const { started, tls } = await settings(3);
    started.write({ tls });
    const run = (...words: string[]): Promise<Ran> => kv([...words, '--cluster', started.file, '-o', 'json']);
    expect(good(await run('put', 'kept', 'yes')).key).toBe('kept');
    if (isSoak)
      expect(
        good(await run('upgrade', '--yes', '--accept-point-of-no-return', '--stable-for', '0')),
      ).toMatchObject({
        outcome: 'done',
        cluster_version_after: `${to}.0`,
      });
    else expect(good(await run('check')).ok).toBe(true);
    expect(good(await run('get', 'kept')).value).toBe('yes');
    expect(good(await run('endpoint', 'health')).every(({ health }: { health: boolean }) => health)).toBe(
      true,
    );
    const { leader } = good(await run('status'));
    const target = started.members.find(({ name }) => name !== leader)?.name as string;
    if (from !== '3.2') expect(good(await run('move-leader', target))).toEqual({ from: leader, to: target });
    if (from !== '3.2') expect(good(await run('lease', 'list'))).toEqual([]);
    expect(good(await run('lease', 'timetolive', '1234abcd'))).toMatchObject({
      is_expired: true,
      ttl_seconds: -1,
    });
    expect(good(await run('member', 'list'))).toHaveLength(3);
    expect(good(await run('alarm', 'list'))).toEqual([]);
    expect(good(await run('del', 'gone')).deleted).toBe(0);
    good(await run('snapshot', 'save', join(home, 'by-name.db')));
    // A certificate that does not name a user gives the request no user.
    const { ca, cert, key } = started.certificates as CertificateFiles;
    started.write({ tls: { ca_file: ca, cert_file: cert, key_file: key } });
    expect((await run('get', 'kept')).code).toBe(4);
    const refused = await run('upgrade', '--yes', '--accept-point-of-no-return');
    if (!isSoak)
      expect([refused.code, error(refused).message]).toEqual([
        10,
        expect.stringContaining('authentication is on and the cluster file does not name a user'),
      ]);
  });

  it('user and password win over the user of a certificate, before, after and during a rollback', async () => {
    const { started, tls } = await settings(1);
    mkdirSync(join(started.directory, 'secret'));
    writeFileSync(join(started.directory, 'secret', 'password'), `${secrets.root}\n`);
    started.write({
      tls,
      user: { name: 'root', password_file: 'secret/password' },
      ctl_binary: ctlOf(from) || 'none',
    });
    const run = (...words: string[]): Promise<Ran> => kv([...words, '--cluster', started.file, '-o', 'json']);
    good(await run('put', 'kept', 'yes'));
    const upgraded = await run(
      'upgrade',
      '--yes',
      '--accept-point-of-no-return',
      '--stable-for',
      '0',
      '--accept',
      'quorum-survives',
    );
    expect(good(upgraded)).toMatchObject({ outcome: 'done', cluster_version_after: `${to}.0` });
    expect(good(await run('get', 'kept')).value).toBe('yes');
    good(await run('put', 'late', 'lost'));
    if (ctlOf(from) !== '') {
      expect(good(await run('restore', '--yes')).outcome).toBe('restored');
      expect(await serverVersion(started.urls[0] as string)).toMatch(new RegExp(`^${from}\\.`));
      expect(good(await run('get', 'kept')).value).toBe('yes');
      expect((await run('get', 'late')).code).toBe(6);
    }
    writeFileSync(join(started.directory, 'secret', 'password'), 'wrong');
    expect((await run('get', 'kept')).code).toBe(4);
    expect(written(home)).not.toContain(secrets.root);
  });
});
