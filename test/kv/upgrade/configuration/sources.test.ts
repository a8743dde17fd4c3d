import { describe, expect, it } from 'vitest';
import { limits } from '../../../../src/core/limits.ts';
import { lintStarts } from '../../../../src/kv/upgrade/configuration/migrate.ts';
import { migrateSource } from '../../../../src/kv/upgrade/configuration/migrate-source.ts';
import { readSource, type SourceFormat } from '../../../../src/kv/upgrade/configuration/sources.ts';
import { serverWords } from '../../../../src/kv/upgrade/configuration/server-command.ts';
import type { Minor } from '../../../../src/api-specs/etcd/versions.ts';
import { naming } from '../../../support/facts.ts';
import { covers } from '../../../support/covers.ts';

const readerOf = (files: Readonly<Record<string, string>>) => ({
  read: async (path: string) => files[path],
  list: async (directory: string) =>
    Object.keys(files)
      .filter((path) => path.startsWith(`${directory}/`))
      .map((path) => path.slice(directory.length + 1)),
});
const read = (text: string, files: Record<string, string> = {}, format?: SourceFormat) =>
  readSource(text, '/f', readerOf(files), format);
const findings = async (text: string, to: Minor, files: Record<string, string> = {}) =>
  lintStarts((await read(text, files)).starts, to)
    .filter(({ level }) => level === 'fail')
    .map(({ key, origin }) => `${key} ${origin?.path}:${origin?.line}`);

const pod = (command: string, kind = 'Pod'): string => `apiVersion: v1
kind: ${kind}
spec:
  containers:
  - name: other
    command: [sleep, "1"]
  - name: etcd
${command}
`;

describe('the format of a file', () => {
  it.each<[string, SourceFormat, string]>([
    ['a configuration file', 'config', 'name: n1\n'],
    ['a configuration file in JSON', 'config', '{"name": "n1", "data-dir": "/d"}'],
    ['an environment file', 'env', '# c\nETCD_NAME="n1"\nexport ETCD_DATA_DIR=/d\n'],
    ['a unit', 'unit', '[Service]\nExecStart=/usr/bin/etcd --name n1\n'],
    ['a drop-in', 'unit', '[Service]\nEnvironment=ETCD_NAME=n1\n'],
    ['a pod', 'pod', pod('    command: [etcd, --name=n1]')],
    [
      'a pod in JSON',
      'pod',
      '{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"e","args":["--name","n1"]}]}}',
    ],
    ['a compose file', 'compose', 'services:\n  e:\n    command: etcd --name n1\n'],
    ['a command', 'command', 'docker run --name etcd -e ETCD_NAME=n1 \\\n  image etcd --debug\n'],
    ['a list of words', 'command', '["etcd", "--name", "n1"]'],
  ])('the format is identified: %s', async (_, format, text) => {
    expect((await read(text)).format).toBe(format);
  });
  it.each([
    ['a mapping without a known key', 'a: 1\nb: 2\n'],
    ['a manifest without a server', pod('    command: [sleep, "2"]')],
    ['a compose file without a server', 'services:\n  web:\n    command: nginx\n'],
    ['an environment file without a variable of the server', 'FOO=1\n'],
    ['a unit of another program', '[Service]\nExecStart=/usr/bin/nginx -g daemon\n'],
    ['an empty file', ''],
  ])('the format is an error for %s', async (_, text) => {
    await expect(read(text)).rejects.toMatchObject({
      category: 'config',
      detail: { code: 'NO_SERVER_SETTINGS' },
    });
  });
});

describe('settings of a file keep their place', () => {
  it.each([
    ['a flag', '/usr/bin/etcd --name n1 --force-new-cluster', '--force-new-cluster'],
    ['a variable', 'ETCD_NAME=n1\nETCD_FORCE_NEW_CLUSTER=true\n', 'ETCD_FORCE_NEW_CLUSTER'],
    ['a key', 'name: n1\nforce-new-cluster: true\n', 'force-new-cluster'],
  ])('%s that removes the other members at each start is a warning', async (_, text, key) => {
    const found = async (given: string) =>
      lintStarts((await read(given)).starts, '3.5').map((one) => [one.level, one.key]);
    expect(await found(text)).toContainEqual(['warn', key]);
    expect(
      JSON.stringify(await found(text.replace('true', 'false').replace(/cluster$/, 'cluster=false'))),
    ).not.toContain('force-new');
  });
  it('flags of a pod manifest', async () => {
    const text = pod(
      '    command:\n    - etcd\n    - --name=n1\n    - --debug\n    env:\n    - {name: ETCD_LOGGER, value: capnslog}',
    );
    expect(await findings(text, '3.5')).toEqual(['--debug /f:11', 'ETCD_LOGGER /f:13']);
  });
  it('flags of a unit, its variables, its environment files and its drop-ins', async () => {
    const unit =
      '[Service]\nEnvironmentFile=-/env\nEnvironment="OPTS=--debug"\nExecStart=/usr/bin/etcd \\\n  # comment\n  --name n1 $OPTS $MORE\n';
    expect(await findings(unit, '3.5', { '/env': 'MORE="--log-output=stderr"\n' })).toEqual([
      '--debug /f:3',
      '--log-output /env:1',
    ]);
    const dropIn = {
      '/f.d/10.conf': '[Service]\nExecStart=\nExecStart=/usr/bin/etcd --proxy=x\n',
      '/env': '',
    };
    expect(await findings(unit, '3.5', dropIn)).toEqual(['--proxy /f.d/10.conf:3']);
  });
  it('variables of the service manager, which the unit and its files override', async () => {
    const path = '/etc/systemd/system/etcd.service';
    const text = '[Service]\nExecStart=/usr/bin/etcd --name n1\n';
    const manager = '[Manager]\nDefaultEnvironment=ETCD_PROXY=on ETCD_LOGGER=capnslog\n';
    const keys = async (files: Record<string, string>, at = path, unit = text) => {
      const { starts } = await readSource(unit, at, readerOf(files));
      return lintStarts(starts, '3.5')
        .filter(({ level }) => level === 'fail')
        .map(({ key, origin }) => `${key} ${origin?.path}:${origin?.line}`);
    };
    const main = '/etc/systemd/system.conf';
    expect(await keys({ [main]: manager })).toEqual([`ETCD_LOGGER ${main}:2`]);
    expect(await keys({ [main]: manager, '/usr/lib/systemd/system.conf': '' })).toHaveLength(1);
    const dropIn = '/etc/systemd/system.conf.d/10.conf';
    expect(await keys({ [dropIn]: manager })).toEqual([`ETCD_LOGGER ${dropIn}:2`]);
    expect(await keys({ [main]: manager, [dropIn]: '[Manager]\nDefaultEnvironment=\n' })).toEqual([]);
    const own = '[Service]\nEnvironment=ETCD_LOGGER=zap\nExecStart=/usr/bin/etcd --name n1\n';
    expect(await keys({ [main]: manager }, path, own)).toEqual([]);
    const other = '[Manager]\nDefaultEnvironment="X=%H" ETCD_LOGGER=zap\n';
    const { starts } = await readSource(text, path, readerOf({ [main]: other }));
    expect(starts.map(({ unread, env }) => [unread, env])).toEqual([[[], { ETCD_LOGGER: 'zap' }]]);
    // A unit outside of the directories of the host belongs to no known host.
    expect(await keys({ [main]: manager }, '/repository/etcd.service')).toEqual([]);
  });
  it('a file of the service manager that cannot be read is unread, and the unit is checked', async () => {
    const text = '[Service]\nExecStart=/usr/bin/etcd --name n1 --debug\n';
    const main = '/etc/systemd/system.conf';
    const reader = readerOf({});
    const refusing = {
      read: async (path: string) => {
        if (path === main) throw new Error('EACCES');
        return await reader.read(path);
      },
      list: async (directory: string) => {
        if (directory === `${main}.d`) throw new Error('EACCES');
        return await reader.list(directory);
      },
    };
    const { starts } = await readSource(text, '/etc/systemd/system/etcd.service', refusing);
    expect(starts.map(({ unread }) => unread)).toEqual([
      [`DefaultEnvironment in ${main}`, `DefaultEnvironment in ${main}.d`],
    ]);
    expect(lintStarts(starts, '3.5').map(({ key }) => key)).toContain('--debug');
  });
  it('the configuration file of a unit', async () => {
    const unit = '[Service]\nExecStart=/usr/bin/etcd --config-file=/c.yml\n';
    expect(await findings(unit, '3.5', { '/c.yml': 'name: n1\nlogger: capnslog\n' })).toEqual([
      'logger /c.yml:2',
    ]);
  });
  it('variables of a compose file, of its environment files, and its command', async () => {
    const text =
      'services:\n  e:\n    env_file: [e.env]\n    environment:\n      ETCD_PROXY: x\n    command: ["etcd", "--debug"]\n';
    const found = await readSource(text, '/d/f', readerOf({ '/d/e.env': 'ETCD_LOGGER=capnslog\n' }));
    const rows = lintStarts(found.starts, '3.5').filter(({ level }) => level === 'fail');
    expect(rows.map(({ key, origin }) => `${key} ${origin?.path}:${origin?.line}`)).toEqual([
      '--debug /d/f:6',
      'ETCD_LOGGER /d/e.env:1',
      'ETCD_PROXY /d/f:5',
    ]);
  });
  it('reports an environment file that it cannot read, and never passes it', async () => {
    const { starts } = await read('[Service]\nEnvironmentFile=/env\nExecStart=/usr/bin/etcd $A\n');
    expect(lintStarts(starts, '3.5').map(({ key }) => key)).toEqual(['EnvironmentFile /env', 'variable A']);
  });
  it('a variable that the command line inserts is still a variable of the server, if the server knows its name', async () => {
    const unit =
      '[Service]\nEnvironmentFile=/env\nExecStart=/bin/sh -c "/usr/bin/etcd --name=\\"${ETCD_NAME}\\" $ETCD_ARGS"\n';
    const env = { '/env': 'ETCD_NAME=n1\nETCD_ARGS="--debug"\n' };
    expect(await findings(unit, '3.4', env)).toEqual(['ETCD_NAME /env:1']);
    expect(await findings(unit, '3.3', env)).toEqual([]);
  });
  it('a variable without a value is reported, in either form', async () => {
    const { starts } = await read('[Service]\nExecStart=/usr/bin/etcd --name=${A} $B\n');
    expect(lintStarts(starts, '3.5').map(({ key }) => key)).toEqual(['variable A', 'variable B']);
  });
  it.each([
    ['systemd adds a comment to the value', 'http://10.0.0.1:2379  # c', ['ETCD_ADVERTISE_CLIENT_URLS']],
    ['and after quotes', '"http://10.0.0.1:2379" x', ['ETCD_ADVERTISE_CLIENT_URLS']],
    ['quoted parts are joined', '"http://10.0.0.1"\':2379\'', []],
  ])('an environment file of a unit: %s', async (_, value, expected) => {
    const unit = '[Service]\nEnvironmentFile=/env\nExecStart=/usr/bin/etcd\n';
    const { starts } = await read(unit, { '/env': `ETCD_ADVERTISE_CLIENT_URLS=${value}\n` });
    expect(lintStarts(starts, '3.3').map(({ key }) => key)).toEqual(expected);
  });
  it('an environment file with a comment after a value, or with a line that is no assignment', async () => {
    const notes = async (text: string) =>
      lintStarts((await read(text)).starts, '3.3').map(({ level, key, message }) => [level, key || message]);
    expect(await notes('ETCD_NAME="n1" # c\n')).toEqual([['warn', 'ETCD_NAME']]);
    expect(await notes('ETCD_NAME=n1 # c\n')).toEqual([['warn', 'ETCD_NAME']]);
    expect(await notes('ETCD_NAME=n1\netcdctl auth enable\n')).toEqual([['warn', naming(2)]]);
  });
  it('a compose file takes its variables from the file .env beside it, and reports the others', async () => {
    const text = `services:
  e:
    environment:
      - ETCD_LOGGER
      - ETCD_QUOTA_BACKEND_BYTES=\${QUOTA:-8G}
      - ETCD_SNAPSHOT_COUNT=\${COUNT:-x}
    command: etcd --advertise-client-urls http://\${HOST_IP}:\${PORT} --name $$NAME --listen-peer-urls=\${PEER}
`;
    const files = { '/d/.env': 'PORT=\nHOST_IP="10.0.0.1"\nCOUNT=10\n' };
    const { starts } = await readSource(text, '/d/f', readerOf(files));
    expect(lintStarts(starts, '3.3').map(({ level, key }) => `${level} ${key}`)).toEqual([
      'warn --advertise-client-urls',
      'fail ETCD_QUOTA_BACKEND_BYTES',
      'warn variable PEER',
      'warn variable ETCD_LOGGER',
    ]);
  });
  it('a manifest inserts the variables of its container', async () => {
    const text = pod(
      '    command: [etcd, "--listen-peer-urls=$(URL)", "--name=$(NAME)"]\n    env:\n    - {name: URL, value: "http://a.example:1"}\n    - {name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}',
    );
    expect(lintStarts((await read(text)).starts, '3.3').map(({ key }) => key)).toEqual([
      '--listen-peer-urls',
      'variable NAME',
    ]);
  });
  it.each([
    ['3.4', 'logger: zap\nlog-outputs: [/var/log/etcd.log, stderr]\n', []],
    ['3.4', 'log-outputs: [/var/log/etcd.log]\n', ['log-outputs']],
    ['3.4', 'ETCD_LOGGER=zap\nETCD_LOG_OUTPUTS=/var/log/etcd.log\n', []],
    ['3.4', 'ETCD_LOG_OUTPUTS=stdout,stderr\n', ['ETCD_LOG_OUTPUTS']],
    ['3.4', '[Service]\nEnvironment=ETCD_LOGGER=zap\nExecStart=/usr/bin/etcd --log-outputs=/l\n', []],
    ['3.4', '[Service]\nEnvironment=ETCD_LOG_OUTPUTS=/l\nExecStart=/usr/bin/etcd --logger=zap\n', []],
    ['3.5', 'log-outputs: [default, stderr]\n', ['log-outputs']],
    ['3.5', 'log-outputs: [/var/log/etcd.log]\n', []],
  ] as const)('the places of the log in %s: %j', async (to, text, expected) => {
    const failed = lintStarts((await read(text)).starts, to).filter(({ level }) => level === 'fail');
    expect(failed.map(({ key }) => key)).toEqual(expected);
  });
  it.each([
    ['a repeated key has its last value', 'snapshot-count: "1"\nsnapshot-count: 2\n', []],
    ['the last value counts', 'snapshot-count: 1\nsnapshot-count: "2"\n', ['snapshot-count']],
    ['an empty URL', 'listen-client-urls: "http://127.0.0.1:1,"\n', ['listen-client-urls']],
    ['TLS without a certificate', 'listen-client-urls: https://127.0.0.1:1\n', ['listen-client-urls']],
    [
      'TLS with a certificate',
      'listen-client-urls: https://127.0.0.1:1\nclient-transport-security: {cert-file: a, key-file: b}\n',
      [],
    ],
    [
      'TLS between peers',
      'ETCD_LISTEN_PEER_URLS=https://127.0.0.1:1\nETCD_CERT_FILE=a\n',
      ['ETCD_LISTEN_PEER_URLS'],
    ],
    ['TLS with an own certificate', 'etcd --listen-peer-urls=https://127.0.0.1:1 --peer-auto-tls\n', []],
    [
      'the certificate of another source',
      '[Service]\nEnvironment=ETCD_CERT_FILE=a\nExecStart=/usr/bin/etcd --advertise-client-urls=https://h:1 --listen-client-urls=https://127.0.0.1:1\n',
      [],
    ],
    ['a signed token without a key', 'auth-token: jwt,sign-method=RS256\n', ['auth-token']],
    ['a signed token', 'auth-token: "jwt,pub-key=a,priv-key=b,sign-method=RS256"\n', []],
    ['an empty variable is not set', 'ETCD_NAME=n1\nETCD_SNAPSHOT_COUNT=\n', []],
  ] as const)('what stops a server of 3.5: %s', async (_, text, expected) => {
    const failed = lintStarts((await read(text)).starts, '3.5').filter(({ level }) => level === 'fail');
    expect(failed.map(({ key }) => key)).toEqual(expected);
  });
  const unit = (flags: string, lines = ''): string =>
    `[Service]\n${lines}ExecStart=/usr/bin/etcd --name=n1 ${flags}\n`;
  const listen = '--listen-client-urls=http://127.0.0.1:2379';
  it.each([
    ['no advertised URL', unit(listen), ['fail --advertise-client-urls']],
    [
      'an advertised URL in a variable',
      unit(listen, 'Environment=ETCD_ADVERTISE_CLIENT_URLS=http://h:1\n'),
      [],
    ],
    [
      'an unread environment file',
      unit(listen, 'EnvironmentFile=/unread\n'),
      ['warn --advertise-client-urls'],
    ],
    [
      'a passed variable',
      unit(listen, 'PassEnvironment=ETCD_ADVERTISE_CLIENT_URLS\n'),
      ['warn --advertise-client-urls'],
    ],
    ['a proxy', unit(`${listen} --proxy=on`), []],
    ['a possible proxy', unit(`${listen} --discovery=http://d:1/x`), []],
    [
      'no possible proxy',
      unit(`${listen} --discovery=http://d:1/x --discovery-fallback=exit`),
      ['fail --advertise-client-urls'],
    ],
    ['a file without an advertised URL', 'listen-client-urls: http://127.0.0.1:2379\n', []],
    ['an unread configuration file', unit(`${listen} --config-file=/unread`), []],
    ['variables without their command', 'ETCD_NAME=n1\nETCD_LISTEN_CLIENT_URLS=http://127.0.0.1:2379\n', []],
    ['a command without its variables', `etcd --name=n1 ${listen}\n`, ['warn --advertise-client-urls']],
    ['an image', pod(`    command: [etcd, --name=n1, ${listen}]`), ['warn --advertise-client-urls']],
    [
      'two ways to find members',
      unit('--discovery=http://d:1/x --initial-cluster=n1=http://h:1'),
      ['fail --discovery'],
    ],
    ['an empty way to find members', unit('--discovery= --initial-cluster=n1=http://h:1'), []],
    [
      'two ways in a file',
      'discovery-srv: example.com\ninitial-cluster: n1=http://h:1\n',
      ['fail discovery-srv'],
    ],
    [
      'a template',
      'name: {{ n }}\n{% if a %}\ndiscovery: http://d:1/x\n{% else %}\ninitial-cluster: n1=http://h:1\n{% endif %}\n',
      ['warn discovery'],
    ],
    [
      'the default cluster in a file',
      'discovery-srv: example.com\ninitial-cluster: default=http://localhost:2380\n',
      [],
    ],
    [
      'one port for two listeners',
      unit('--listen-peer-urls=http://0.0.0.0:2379'),
      ['fail --listen-client-urls'],
    ],
    ['a default port', unit('--listen-peer-urls=http://127.0.0.1:2379'), ['fail --listen-client-urls']],
    ['one port of two addresses', unit('--listen-peer-urls=http://127.0.0.2:2379'), []],
    ['one port of an image', pod('    command: [etcd, --listen-peer-urls=http://127.0.0.1:2379]'), []],
    ['a shared port', unit('--listen-peer-urls=http://127.0.0.1:2379 --socket-reuse-port'), []],
    ['a repeated client URL', 'listen-client-urls: http://127.0.0.1:1,http://127.0.0.1:1\n', []],
    [
      'a repeated peer URL',
      'listen-peer-urls: http://127.0.0.1:1,http://127.0.0.1:1\n',
      ['fail listen-peer-urls'],
    ],
    ['the metrics of a file', 'listen-metrics-urls: http://0.0.0.0:2380\n', ['fail listen-metrics-urls']],
    ['a port that a shell inserts', unit('--listen-peer-urls=http://127.0.0.1:${PORT}'), []],
  ])('settings that stop a server of 3.5 together: %s', async (_, text, expected) => {
    const keys = /advertise|discovery|listen/;
    const found = lintStarts((await read(text)).starts, '3.5').filter(({ key }) => keys.test(key));
    expect(found.map(({ level, key }) => `${level} ${key}`)).toEqual(expected);
  });
  it('the file of ETCD_CONFIG_FILE counts from 3.4 on, and the change is reported', async () => {
    const unit = '[Service]\nEnvironment=ETCD_CONFIG_FILE=/c.yml\nExecStart=/usr/bin/etcd\n';
    const { starts } = await read(unit, { '/c.yml': 'snapshot-count: "1"\n' });
    const rows = (to: Minor) =>
      lintStarts(starts, to)
        .map(({ level, key }) => `${level} ${key}`)
        .filter((row) => /CONFIG_FILE|snapshot/.test(row));
    expect(rows('3.3')).toEqual(['warn ETCD_CONFIG_FILE']);
    expect(rows('3.4')).toEqual(['fail snapshot-count', 'warn ETCD_CONFIG_FILE']);
    expect(rows('3.5')).toEqual(['fail snapshot-count']);
  });
  /** Paths of the files that opsctl could not read. */
  const unreadFiles = async (text: string, to: Minor, files: Record<string, string> = {}) =>
    lintStarts((await read(text, files)).starts, to)
      .map(({ key }) => key)
      .filter((key) => key.startsWith('configuration '))
      .map((key) => key.split(' ').at(-1));
  const named = ['/e.yml'];
  const onHost = { '/e.yml': 'name: n1\n' };
  it.each([
    ['a unit', '[Service]\nExecStart=/usr/bin/etcd --config-file /e.yml\n'],
    ['an environment file', 'ETCD_CONFIG_FILE=/e.yml\n'],
    ['a command', 'etcd --config-file=/e.yml --name n1\n'],
  ])('a configuration file of %s is read, or reported', async (_, text) => {
    expect(await unreadFiles(text, '3.5')).toEqual(named);
    expect(await unreadFiles(text, '3.5', onHost)).toEqual([]);
    expect(await findings(text, '3.5', { '/e.yml': 'name: 5\n' })).toEqual(['name /e.yml:1']);
  });
  it.each([
    ['a pod', pod('    command: [etcd, --config-file=/e.yml]')],
    ['a compose file', 'services:\n  etcd:\n    command: etcd --config-file /e.yml\n'],
    ['a unit that runs docker', '[Service]\nExecStart=/usr/bin/docker run x etcd --config-file /e.yml\n'],
    ['a unit of podman', '[Container]\nImage=x\nExec=etcd --config-file /e.yml\n'],
    ['docker run', 'docker run x etcd --config-file /e.yml\n'],
  ])('%s: a configuration file of the host is not the one of the container', async (_, text) => {
    expect(await unreadFiles(text, '3.5', onHost)).toEqual(named);
  });
  it('a relative configuration file is reported, because the working directory is unknown', async () => {
    const unit = '[Service]\nExecStart=/usr/bin/etcd --config-file e.yml\n';
    expect(await unreadFiles(unit, '3.5', { 'e.yml': 'name: n1\n' })).toEqual(['e.yml']);
  });
  it('versions before 3.4 do not need the file of the variable, and its repeated keys do not matter', async () => {
    const unit = '[Service]\nEnvironment=ETCD_CONFIG_FILE=/e.yml\nExecStart=/usr/bin/etcd --name n1\n';
    expect([await unreadFiles(unit, '3.3'), await unreadFiles(unit, '3.4')]).toEqual([[], named]);
    const { starts } = await read(unit, { '/e.yml': 'name: n1\nname: n2\n' });
    const keys = (to: Minor) => lintStarts(starts, to).map(({ key }) => key);
    expect([keys('3.3').includes('name'), keys('3.4').includes('name')]).toEqual([false, true]);
  });
  it('systemd ignores a line with export', async () => {
    const files = { '/env': 'export ETCD_SNAPSHOT_COUNT=x\n' };
    const unit = '[Service]\nEnvironmentFile=/env\nExecStart=/usr/bin/etcd\n';
    expect(await findings(unit, '3.5', files)).toEqual([]);
    const { starts } = await read('export ETCD_NAME=n1\n');
    expect(lintStarts(starts, '3.5').map(({ level, key }) => [level, key])).toEqual([['warn', 'ETCD_NAME']]);
  });
  it.each([
    ['max-concurrent-streams', 2n ** 32n - 1n],
    ['snapshot-count', 2n ** 64n - 1n],
    ['max-snapshots', 2n ** 63n - 1n],
    ['quota-backend-bytes', 2n ** 63n - 1n],
    ['quota-backend-bytes', -(2n ** 63n)],
  ])('the limit %s %s passes in each source, and the next number fails', async (key, limit) => {
    const next = limit > 0n ? limit + 1n : limit - 1n;
    for (const [value, level] of [
      [limit, 0],
      [next, 1],
    ] as const)
      for (const text of [
        `name: a\n${key}: ${value}\n`,
        `etcd --name a --${key}=${value}\n`,
        `ETCD_NAME=a\nETCD_${key.toUpperCase().replaceAll('-', '_')}=${value}\n`,
      ])
        expect((await findings(text, '3.5')).length, text).toBe(level);
  });
  it.each([
    ['--grpc-keepalive-timeout=2562047h', 0],
    ['--grpc-keepalive-timeout=2562048h', 1],
    ['--snapshot-count=1_0', 0],
    ['--snapshot-count=1__0', 1],
    ['--snapshot-count=1_', 1],
    ['--enable-pprof=', 1],
    ['--enable-pprof=tRue', 1],
    ['--enable-pprof=T', 0],
  ])('the value of %s stops a server: %s', async (flag, count) => {
    expect(await findings(`etcd --name a ${flag}\n`, '3.5')).toHaveLength(count);
  });
  it('names the nearest setting of an unknown key, variable and flag', async () => {
    const hints = async (text: string) =>
      lintStarts((await read(text)).starts, '3.5').map(({ key, hint }) => [key, hint]);
    expect(await hints('name: n1\nhearbeat-interval: 200\n')).toEqual([
      ['hearbeat-interval', naming('heartbeat-interval?')],
    ]);
    expect(await hints('ETCD_NAME=n1\nETCD_HEARBEAT_INTERVAL=200\n')).toEqual([
      ['ETCD_HEARBEAT_INTERVAL', naming('ETCD_HEARTBEAT_INTERVAL?')],
    ]);
    expect(await hints('etcd --hearbeat-interval=200\n')).toEqual([
      ['--hearbeat-interval', naming('--heartbeat-interval?')],
    ]);
  });
  it('reads the first of several documents, as the servers do', async () => {
    expect(await findings('# c\n---\nname: n1\n---\nlogger: capnslog\n', '3.5')).toEqual([]);
  });
});

it.each([
  [
    ['/bin/sh', '-ec', 'exec etcd --name n1'],
    ['etcd', '--name', 'n1'],
  ],
  [
    ['docker', 'run', '--name', 'etcd', 'i/etcd:v3', '/usr/local/bin/etcd', '--debug'],
    ['/usr/local/bin/etcd', '--debug'],
  ],
  [
    ['numactl', '-N', '0', '/opt/etcd-3.4', '--name', 'n1'],
    ['/opt/etcd-3.4', '--name', 'n1'],
  ],
  [['etcdctl', 'get', 'a'], undefined],
])('the words of the server in %j', (words, expected) => {
  expect(serverWords(words)).toEqual(expected);
});

describe('a file for another version', () => {
  const migrate = async (text: string, to: Minor, when: 'roll' | 'after' = 'after') =>
    migrateSource(text, '/f', (await read(text)).starts, {
      ...{ to, when },
      readAgain: async (now) => (await read(now)).starts,
    });
  it('keeps a manifest and its comments, and replaces each old name', async () => {
    const text = pod(
      '    command:\n    - etcd # mine\n    - --name=n1\n    - --debug=true\n    - --log-package-levels=a=DEBUG',
    );
    const { text: now, changes } = await migrate(text, '3.5');
    expect(now).toBe(
      text.replace('--debug=true', '--log-level=debug').replace('    - --log-package-levels=a=DEBUG\n', ''),
    );
    expect(changes).toHaveLength(2);
    expect(await findings(now, '3.5')).toEqual([]);
  });
  it('merges gates into one setting', async () => {
    const text =
      'ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK=true\nETCD_EXPERIMENTAL_ENABLE_LEASE_CHECKPOINT=true\n';
    expect((await migrate(text, '3.6')).text).toBe(
      'ETCD_FEATURE_GATES=InitialCorruptCheck=true,LeaseCheckpoint=true\n',
    );
    expect((await migrate(text, '3.6', 'roll')).text).toBe(text);
  });
  it('requires certificates where ca-file did', async () => {
    const { text } = await migrate('[Service]\nExecStart=/usr/bin/etcd --ca-file=/ca.pem --name n1\n', '3.4');
    expect(text).toContain('--trusted-ca-file=/ca.pem --client-cert-auth=true --name n1');
  });
  it('lists a value over several lines as not rewritten, not as a setting of another file', async () => {
    const text = 'ETCD_NAME=n1\nETCD_LOG_PACKAGE_LEVELS="a=INFO,\nb=DEBUG"\n';
    const { starts } = await read(text);
    const readAgain = async (now: string) => (await read(now)).starts;
    expect(await migrateSource(text, '/f', starts, { to: '3.5', when: 'after', readAgain })).toMatchObject({
      ...{ text, changes: [] },
      elsewhere: [naming('/f:2', 'ETCD_LOG_PACKAGE_LEVELS')],
    });
  });
  it('lists a setting of another file instead of changing it', async () => {
    const text = '[Service]\nEnvironmentFile=/env\nExecStart=/usr/bin/etcd $A\n';
    const { starts } = await read(text, { '/env': 'A=--debug\n' });
    const readAgain = async () => starts;
    const found = await migrateSource(text, '/f', starts, { to: '3.5', when: 'after', readAgain });
    expect(found).toMatchObject({ text, changes: [], elsewhere: ['/env:1: --debug is set in another file'] });
  });
});

it(
  'a server behind scripts that start each other: n scripts and n + 1',
  covers('limit/scriptDepth'),
  async () => {
    const countServers = async (count: number): Promise<number> => {
      const script = (at: number): string =>
        at === count ? 'exec etcd --name=n1\n' : `exec sh /d/${at + 1}\n`;
      const reader = {
        read: async (path: string) => (path === '/d/u' ? undefined : script(Number(path.slice(3)))),
        list: async () => [],
      };
      const unit = '[Service]\nEnvironment=ETCD_NAME=n1\nExecStart=/bin/sh /d/1\n';
      const { starts } = await readSource(unit, '/d/u', reader, 'unit');
      return starts.filter(({ words }) => words.length > 0).length;
    };
    expect(await countServers(limits.scriptDepth)).toBe(1);
    expect(await countServers(limits.scriptDepth + 1)).toBe(0);
  },
);
