import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  defaultOf,
  fileSections,
  findSetting,
  serverSettings,
  type SettingKind,
} from '../../../../src/api-specs/etcd/server-settings.ts';
import type { Minor } from '../../../../src/api-specs/etcd/versions.ts';
import { AppError } from '../../../../src/core/problem.ts';
import { lintStarts } from '../../../../src/kv/upgrade/configuration/migrate.ts';
import { readSource } from '../../../../src/kv/upgrade/configuration/sources.ts';
import { realServers } from '../../../real/etcd.mjs';
import { makeDirectory } from '../../../support/directory.ts';
import { environmentTexts } from '../../../support/environment-texts.ts';
import { slice } from '../../../support/slice.ts';
import { startSystemd } from '../../../support/systemd-host.ts';

const servers = realServers({ isFetching: false });
const minors = (['3.3', '3.4', '3.5'] as const).filter((minor) => servers[minor] !== undefined);
type Case = {
  readonly how: 'file' | 'flag' | 'variable';
  readonly key: string;
  readonly value: string;
  /** A value of the same flag that comes first. */
  readonly earlier?: string;
  /** Other settings of the start. Undefined removes a setting. */
  readonly others?: Readonly<Record<string, string | undefined>>;
};

const freePort = (): Promise<number> =>
  new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => done(port));
    });
  });
const baseOf = (directory: string, peer: number, client: number): Record<string, string> => ({
  name: 'n1',
  'data-dir': join(directory, 'data'),
  'listen-peer-urls': `http://127.0.0.1:${peer}`,
  'listen-client-urls': `http://127.0.0.1:${client}`,
  'initial-advertise-peer-urls': `http://127.0.0.1:${peer}`,
  'advertise-client-urls': `http://127.0.0.1:${client}`,
  'initial-cluster': `n1=http://127.0.0.1:${peer}`,
});
/** A server that elects itself after 100 ms instead of a second. Cases about these settings start with the defaults. */
const shortTicks = { 'heartbeat-interval': '10', 'election-timeout': '100' };
/** The configuration text that opsctl reads, and the start arguments of the real server. */
const sourceOf = (base: Record<string, string>, { how, key, value: given, earlier, others: more }: Case) => {
  // The ports of a case are those of the start.
  const insert = (text: string): string =>
    text.replace(
      /\{(\w+)\}/g,
      (_, name: string) => /\d+$/.exec(base[`listen-${name}-urls`] ?? '')?.[0] ?? '',
    );
  const value = insert(given);
  const all = { ...base, ...(Object.hasOwn(shortTicks, key) ? {} : shortTicks), ...more };
  const others = Object.entries(all).flatMap(([name, one]): [string, string][] =>
    name === key || one === undefined ? [] : [[name, insert(one)]],
  );
  if (how === 'file') {
    const lines = [...others.map(([name, one]) => `${name}: ${one}`), `${key}: ${value}`];
    return { text: `${lines.join('\n')}\n`, args: undefined, env: {} };
  }
  const variable = `ETCD_${key.toUpperCase().replaceAll('-', '_')}`;
  const args = others.map(([name, one]) => `--${name}=${one}`);
  if (earlier !== undefined) args.push(`--${key}=${earlier}`);
  if (how === 'flag') args.push(`--${key}=${value}`);
  const env: Record<string, string> = how === 'variable' ? { [variable]: value } : {};
  // In a unit, a percent sign starts a specifier.
  const unit = `[Service]\n${how === 'variable' ? `Environment="${variable}=${value}"\n` : ''}ExecStart=/usr/bin/etcd ${args.join(' ')}\n`;
  return { text: unit.replaceAll('%', '%%'), args, env };
};
/** The lines of a server that has opened its listeners. It opens that of the metrics separately. */
const signsOf = ({ key, value, others }: Case): RegExp[] => [
  /ready to serve client requests/,
  ...(others !== undefined && key === 'listen-metrics-urls' && value !== ''
    ? [/listening for metrics on|"serving metrics"/]
    : []),
];
/** Undefined: another process took the port first. The server creates its sockets in the directory. */
const starts = (
  directory: string,
  binary: string,
  args: readonly string[],
  env: Record<string, string>,
  signs: readonly RegExp[],
): Promise<boolean | undefined> =>
  new Promise((done) => {
    const child = spawn(binary, args, { env, cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    let isUp = false;
    // A server without log output (log-level panic) that still runs after this time has started.
    const late = setTimeout(() => {
      isUp = true;
      child.kill('SIGKILL');
    }, 12_000);
    const read = (part: Buffer): void => {
      output += String(part);
      if (!signs.every((sign) => sign.test(output))) return;
      isUp = true;
      child.kill('SIGKILL');
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('exit', () => {
      clearTimeout(late);
      done(!isUp && /address already in use/.test(output) ? undefined : isUp);
    });
  });
/** Whether opsctl reports that the server does not start with this text. */
const rejects = async (
  text: string,
  path: string,
  minor: Minor,
  format: 'config' | 'unit',
): Promise<boolean> => {
  const reader = { read: async () => undefined, list: async () => [] };
  try {
    const { starts: found } = await readSource(text, path, reader, format);
    return lintStarts(found, minor).some(
      ({ level, message }) => level === 'fail' && message.includes('would not start'),
    );
  } catch (error) {
    // A file that no server can read.
    if (error instanceof AppError && error.detail.code === 'CONFIG_BROKEN') return true;
    throw error;
  }
};
const compare = async (minor: Minor, one: Case, triesLeft = 3): Promise<string | undefined> => {
  const directory = makeDirectory('settings-');
  try {
    const base = baseOf(directory, await freePort(), await freePort());
    const { text, args, env } = sourceOf(base, one);
    const path = join(directory, 'source');
    writeFileSync(path, text);
    const isRejected = await rejects(text, path, minor, one.how === 'file' ? 'config' : 'unit');
    const binary = servers[minor]?.server as string;
    const isStarted = await starts(directory, binary, args ?? ['--config-file', path], env, signsOf(one));
    // A case may contain one address twice, and then the linter must know it.
    if (isStarted === undefined && !isRejected && triesLeft > 0)
      return await compare(minor, one, triesLeft - 1);
    const shown = `${minor} ${one.how} ${one.key}: ${one.earlier === undefined ? '' : `${one.earlier}, then `}${one.value}`;
    return isRejected === (isStarted ?? false)
      ? `${shown}: lint ${isRejected ? 'rejects' : 'accepts'} it, the server ${isStarted ? 'starts' : 'exits'}`
      : undefined;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
};
/** Whether a server reads such a setting depends on its patch, which the linter does not know. */
const isOfMinor = (minor: Minor, { how, key }: Case): boolean =>
  findSetting(key, minor, how === 'file' ? 'file' : 'flag')?.sincePatch === undefined;
const compareAll = async (minor: Minor, cases: readonly Case[]): Promise<string[]> => {
  const [left, wrong]: [Case[], string[]] = [cases.filter((one) => isOfMinor(minor, one)), []];
  const work = async (): Promise<void> => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) {
      const found = await compare(minor, one);
      if (found !== undefined) wrong.push(found);
    }
  };
  await Promise.all([work(), work(), work()]);
  return wrong;
};

/** Both limits of a range, and the numbers around them. */
const limits = (least: bigint, most: bigint): string[] =>
  [least, most].flatMap((limit) => [limit - 1n, limit, limit + 1n]).map(String);
/** Values of other YAML types for each kind, and text that the flag does not parse. */
const inFile: Readonly<Record<SettingKind, readonly string[]>> = {
  text: ['[a]'],
  urls: ['7', 'http://a.example'],
  'bind-urls': ['7', 'http://127.0.0.1', 'http://host.example:2379'],
  whole: ['"7"', '-1', '1.5', ...limits(0n, 2n ** 64n - 1n)],
  'whole-32': ['"7"', '-1', '1.5', ...limits(0n, 2n ** 32n - 1n)],
  'whole-63': ['"7"', '-1', '1.5', ...limits(0n, 2n ** 63n - 1n)],
  signed: ['"7"', '1.5', ...limits(-(2n ** 63n), 2n ** 63n - 1n)],
  switch: ['"true"', '1', 'True', 'yes', 'y', 't'],
  duration: ['5s', '1.5', ...limits(-(2n ** 63n), 2n ** 63n - 1n)],
  list: ['x'],
  mapping: ['x'],
};
const asFlag: Readonly<Record<SettingKind, readonly string[]>> = {
  text: [],
  urls: ['a.example:1', 'http://a.example'],
  'bind-urls': ['a.example:1', 'http://127.0.0.1', 'http://host.example:2379'],
  whole: ['x', '-1', '1__0', '1_', '0x', ...limits(0n, 2n ** 64n - 1n)],
  'whole-32': ['x', '-1', ...limits(0n, 2n ** 32n - 1n)],
  'whole-63': ['x', '-1', ...limits(0n, 2n ** 63n - 1n)],
  signed: ['x', '1.5', '+', ...limits(-(2n ** 63n), 2n ** 63n - 1n)],
  switch: ['maybe', '', 't', 'T', 'True', 'tRue', 'yes', 'on', '2'],
  duration: ['5', 'x', '', '1d', '.5s', '2562048h', '2562047h', '-2562048h', '1h1m'],
  list: [],
  mapping: [],
};
const names = [...new Set(serverSettings.filter(({ since }) => since !== '3.6').map(({ name }) => name))];
/** Settings that require other files or programs to start. */
const isAlone = (name: string): boolean =>
  !/^(discovery|proxy|help|version|snapshot|config-file|experimental-enable-v2v3|force-new-cluster|name|initial-cluster)$|-file$|discovery/.test(
    name,
  );
const kindCases = (minor: Minor, how: Case['how']): Case[] =>
  names.filter(isAlone).flatMap((key) => {
    const setting = findSetting(key, minor, how === 'file' ? 'file' : 'flag');
    const any = serverSettings.find(({ name }) => name === key)?.kind ?? 'text';
    const values = (how === 'file' ? inFile : asFlag)[setting?.kind ?? any];
    // An undefined flag stops the version with every value.
    return (how === 'flag' && setting === undefined ? ['1'] : values).map((value) => ({ how, key, value }));
  });
const suite = 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256';
const suites: readonly string[] = [
  ...[suite, 'TLS_AES_128_GCM_SHA256', 'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256', 'TLS_NOPE'],
  ...[suite.toLowerCase(), `${suite},TLS_NOPE`, `${suite},`],
];
/** Two values of one flag: a server parses both, and the last one takes effect. */
const repeated: readonly (readonly [key: string, earlier: string, value: string])[] = [
  ['snapshot-count', 'x', '100'],
  ['snapshot-count', '7', '100'],
  ['max-wals', '-1', '5'],
  ['quota-backend-bytes', '-', '0'],
  ['enable-pprof', 'maybe', 'true'],
  ['grpc-keepalive-timeout', 'bad', '5s'],
  ['auto-compaction-mode', 'sometimes', 'periodic'],
  ['auto-compaction-retention', 'bad', '1'],
  ['initial-cluster-state', 'old', 'new'],
  ['listen-metrics-urls', 'nope', 'http://127.0.0.1:0'],
  ['listen-metrics-urls', 'http://127.0.0.1', 'http://127.0.0.1:0'],
  ['cors', 'nope', '*'],
  ['log-level', 'bad', 'info'],
  ['auth-token', 'other', 'simple'],
  ['cipher-suites', 'TLS_NOPE', suite],
  ['v2-deprecation', 'x', 'not-yet'],
  ['discovery-fallback', 'x', 'exit'],
  ['proxy', 'x', 'off'],
  ['tls-min-version', 'TLS9', 'TLS1.2'],
  ['metrics', 'x', 'basic'],
];
const advertisedUrls: readonly string[] = [
  ...['unix:///nowhere/etcd.sock', 'unix://localhost:m{client}', 'unix://localhost:1/a'],
  ...['unix://localhost:1', 'unix://etcd.sock', 'unix://:1', 'http://:{client}', 'http://127.0.0.1:'],
  ...['http://::1:{client}', 'http://[::1:1]', 'http://127.0.0.1:99999', 'http://a.example:{client}/'],
  ...['http://a.example:{client}?a=1', 'http://u:p@a.example:{client}', 'http://u@a.example', 'http://a|b:1'],
  ...['http://a%20b:{client}', 'http://a%41b:{client}', 'http://a%25b:{client}', 'http://a%C3%A4b:{client}'],
  ...[
    'http://[fe80::1%25eth0]:{client}',
    'http://[fe80::1%20eth0]:{client}',
    'http://[fe80::1%25e%41]:{client}',
  ],
  ...['http://u%20s@a.example:{client}', 'http://127.0.0.01:{client}'],
];
const listenedUrls: readonly string[] = [
  ...['unix://localhost:m{client}', 'unix://127.0.0.1:{client}', 'http://127.0.0.1:', 'http://:{client}'],
  ...['http://::1:{client}', 'http://[127.0.0.1]:{client}', 'http://999.0.0.1:{client}'],
  ...['http://127.0.0.1:99999', 'http://127.0.0.1:{client}?a=1', 'http://u:p@127.0.0.1:{client}'],
  ...['http://127.0.0.01:{client}', 'http://127.0.0.00:{client}', 'http://[::1%25lo]:{client}'],
];
/** Values with special rules. Every version is tested with each of them. */
const valueCases: readonly Case[] = [
  ...(['file', 'flag', 'variable'] as const).flatMap((how): Case[] => [
    { how, key: 'logger', value: 'capnslog' },
    { how, key: 'logger', value: 'zap' },
    { how, key: 'log-level', value: 'INFO' },
    { how, key: 'log-level', value: 'warning' },
    { how, key: 'log-level', value: 'warn' },
    { how, key: 'cors', value: 'http://a.example' },
    { how, key: 'cors', value: 'http://a.example:80' },
    { how, key: 'cors', value: how === 'file' ? '"*"' : '*' },
    { how, key: 'auto-compaction-mode', value: 'sometimes' },
    { how, key: 'auto-compaction-mode', value: 'revision' },
    { how, key: 'initial-cluster-state', value: 'old' },
    { how, key: 'heartbeat-interval', value: '300' },
    { how, key: 'heartbeat-interval', value: '0' },
    { how, key: 'election-timeout', value: '60000' },
    { how, key: 'tls-min-version', value: 'TLS9' },
    { how, key: 'v2-deprecation', value: 'x' },
    { how, key: 'hearbeat-interval', value: '200' },
    { how, key: 'max-snapshots', value: '3' },
    ...['0', '-1', '1'].map(
      (value): Case => ({
        ...{ how, key: 'experimental-compact-hash-check-time' },
        value: how === 'file' ? value : `${value}ns`,
      }),
    ),
    { how, key: 'quota-backend-bytes', value: '-1' },
    ...['stdout', 'default,stdout', 'stdout,/dev/null', 'default,/dev/null'].map(
      (value): Case => ({ how, key: 'log-outputs', value: how === 'file' ? `[${value}]` : value }),
    ),
    ...(how === 'file' ? [{ how, key: 'log-outputs', value: '[/dev/null]' }] : []),
    { how, key: 'log-output', value: 'stdout' },
    ...['jwt', 'jwt,sign-method=RS256', 'other', 'simple'].map(
      (value): Case => ({ how, key: 'auth-token', value }),
    ),
    { how, key: 'listen-metrics-urls', value: 'http://127.0.0.1:0,' },
    ...advertisedUrls.map((value): Case => ({ how, key: 'advertise-client-urls', value })),
    ...listenedUrls.map((value): Case => ({ how, key: 'listen-client-urls', value })),
    ...['http://:{peer}', 'unix:///etcd.sock'].map(
      (value): Case => ({ how, key: 'initial-advertise-peer-urls', value }),
    ),
    ...suites.map(
      (value): Case => ({
        ...{ how, key: 'cipher-suites' },
        value: how === 'file' ? JSON.stringify(value.split(',')) : value,
      }),
    ),
    ...(how === 'variable' ? [{ how, key: 'snapshot-count', value: '' }] : []),
  ]),
  ...repeated.map(([key, earlier, value]): Case => ({ how: 'flag', key, value, earlier })),
  // Plain scalars of YAML 1.1, which differ from YAML 1.2.
  ...['on', 'n', '08', '1_000', '12:30', 'oN'].flatMap((value) =>
    ['initial-cluster-token', 'pre-vote', 'snapshot-count'].map((key): Case => ({ how: 'file', key, value })),
  ),
  ...['off', '"off"'].map((value): Case => ({ how: 'file', key: 'proxy', value })),
  // Explicit tags, with the values of YAML 1.1.
  ...['!!bool yes', '!!bool "no"', '!!bool oN', '!!bool 1'].map(
    (value): Case => ({ how: 'file', key: 'pre-vote', value }),
  ),
  ...['!!int 1_000', '!!int 08', '!!int x', '!!float 7'].map(
    (value): Case => ({ how: 'file', key: 'snapshot-count', value }),
  ),
  ...['!!binary aGk=', '!!timestamp 2026-01-01', '!!bool yes'].map(
    (value): Case => ({ how: 'file', key: 'initial-cluster-token', value }),
  ),
  ...['"*"', '"a,*"', 'a', '[a]', '{a: {}}'].map(
    (value): Case => ({ how: 'file', key: 'host-whitelist', value }),
  ),
  ...Object.keys(fileSections).flatMap((section): Case[] => [
    { how: 'file', key: section, value: '{Auto-TLS: "true"}' },
    { how: 'file', key: section, value: 'x' },
    { how: 'file', key: section, value: '{cert-file: 1}' },
    { how: 'file', key: section, value: '{allowed-cn: x}' },
    { how: 'file', key: section, value: '{client-cert-auth: "true"}' },
    { how: 'file', key: section, value: '{cert-fle: x}' },
  ]),
];

const [client, listeners] = ['listen-client-urls', ['listen-peer-urls', 'listen-metrics-urls']] as const;
const hosts = ['127.0.0.1', '127.0.0.2', 'localhost', '0.0.0.0', '[::]', '[::1]'];
const withoutCluster = { 'initial-cluster': undefined };
/** Settings that a server accepts alone. The base of each case contains a client, a peer and an advertised URL. */
const combined: readonly Case[] = (['file', 'flag', 'variable'] as const).flatMap((how): Case[] => [
  { how, key: 'advertise-client-urls', value: '', others: {} },
  { how, key: client, value: 'http://127.0.0.1:{client}', others: { 'advertise-client-urls': undefined } },
  { how, key: 'discovery', value: 'http://127.0.0.1:1/x' },
  { how, key: 'discovery-srv', value: 'example.com' },
  {
    ...{ how, key: 'discovery-srv', value: 'example.com' },
    others: { ...withoutCluster, discovery: 'http://127.0.0.1:1/x' },
  },
  ...hosts.flatMap((host): Case[] => [
    { how, key: client, value: `http://${host}:{peer}` },
    { how, key: client, value: `http://127.0.0.1:{client},http://${host}:{client}` },
    { how, key: client, value: `http://${host}:{client},http://0.0.0.0:{client}` },
    { how, key: 'listen-peer-urls', value: `http://127.0.0.1:{peer},http://${host}:{peer}` },
    ...listeners.map((key): Case => ({ how, key, value: `http://${host}:{client}`, others: {} })),
    {
      ...{ how, key: 'listen-metrics-urls', value: `http://${host}:{peer}` },
      others: { 'listen-peer-urls': 'http://[::1]:{peer}' },
    },
  ]),
  { how, key: client, value: 'http://:{client}' },
  { how, key: 'listen-metrics-urls', value: 'http://127.0.0.1:0,http://127.0.0.1:0', others: {} },
  { how, key: client, value: 'http://127.0.0.1:0', others: { 'listen-peer-urls': 'http://127.0.0.1:0' } },
]);
/** A run starts a real server for a sixth of the cases. The seed of the commit selects them, and the soak takes all of them. */
const sixth = (cases: readonly Case[]): Case[] => slice(cases, Math.ceil(cases.length / 6));

describe.each(minors)('settings that a real server of %s rejects', (minor) => {
  it('the linter rejects the same types in the configuration file as the server', {
    timeout: 600_000,
  }, async () => {
    expect(await compareAll(minor, sixth(kindCases(minor, 'file')))).toEqual([]);
  });
  it('the linter rejects the same flags and variables as the server', { timeout: 600_000 }, async () => {
    expect(
      await compareAll(minor, sixth([...kindCases(minor, 'flag'), ...kindCases(minor, 'variable')])),
    ).toEqual([]);
  });
  it('the linter rejects the same values as the server', { timeout: 600_000 }, async () => {
    expect(await compareAll(minor, sixth(valueCases))).toEqual([]);
  });
  it('the linter rejects the same combinations of settings as the server', {
    timeout: 600_000,
  }, async () => {
    expect(await compareAll(minor, sixth(combined))).toEqual([]);
  });
});

/** Names of the variables of the tests: the manager adds others. */
const isOwn = (line: string): boolean => /^[ABC1]\w*=/.test(line);
it('the real systemd reads each environment file as opsctl does', async () => {
  const directory = makeDirectory();
  const systemd = await startSystemd(directory);
  if (systemd === undefined) return;
  try {
    environmentTexts.forEach(([text], i) => {
      writeFileSync(join(directory, `${i}.env`), text);
      writeFileSync(
        join(systemd.units, `env${i}.service`),
        `[Unit]\nDefaultDependencies=no\n[Service]\nType=oneshot\nEnvironmentFile=${directory}/${i}.env\nExecStart=/bin/sh -c 'exec env -0 > ${directory}/${i}.out'\n`,
      );
    });
    systemd.systemctl('daemon-reload');
    systemd.systemctl('start', ...environmentTexts.map((_, i) => `env${i}.service`));
    environmentTexts.forEach(([text, env], i) => {
      const seen = readFileSync(join(directory, `${i}.out`), 'utf8')
        .split('\0')
        .filter(isOwn)
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]);
      expect(Object.fromEntries(seen), JSON.stringify(text)).toEqual(env);
    });
  } finally {
    await systemd.close();
  }
});

/** The defaults that the help of a server contains, by setting: `--name 'default'`, `--max-wals 5`. */
const helpDefaults = (binary: string): Map<string, string> => {
  const { stdout, stderr } = spawnSync(binary, ['--help'], { encoding: 'utf8' });
  const rows = `${stdout}${stderr}`.matchAll(/^[ \t]{1,4}--([a-z0-9-]+)[ =]('(.*)'|\d+)( .*)?$/gm);
  return new Map([...rows].map(([, name = '', value = '', quoted]) => [name, quoted ?? value]));
};
/** Defaults that depend on other settings, or that the help writes as a name of the language. */
const isComputed = (name: string): boolean =>
  ['data-dir', 'initial-cluster', 'max-concurrent-streams', 'log-rotation-config-json'].includes(name);

describe('the defaults of the settings', () => {
  it.each(minors)('are those in the help of %s', (minor) => {
    const rows = [...helpDefaults(servers[minor]?.server as string)].filter(
      ([name]) => !isComputed(name) && findSetting(name, minor, 'flag') !== undefined,
    );
    expect(rows.length).toBeGreaterThan(50);
    const differing = rows.filter(([name, value]) => defaultOf(name, minor) !== value);
    expect(differing).toEqual([]);
  });
});
