import { describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/core/problem.ts';
import { migrateSource } from '../../../../src/kv/upgrade/configuration/migrate-source.ts';
import { readSource } from '../../../../src/kv/upgrade/configuration/sources.ts';

const path = '/f';
const read = async (text: string) =>
  await readSource(text, path, {
    read: async (other) => (other === path ? text : undefined),
    list: async () => [],
  });
const readAgain = async (text: string) => {
  try {
    return (await read(text)).starts;
  } catch (error) {
    if (error instanceof AppError) return [];
    throw error;
  }
};
const migrate = async (text: string, to: '3.4' | '3.6') =>
  await migrateSource(text, path, (await read(text)).starts, { to, when: 'after', readAgain });

const unit = (...lines: string[]): string => `[Service]\n${lines.join('\n')}\nRestart=always\n`;
const start = (command: string): string => unit(`ExecStart=${command}`);
const compose = (...lines: string[]): string =>
  `services:\n  etcd:\n    image: etcd\n${lines.map((line) => `    ${line}\n`).join('')}`;
const script = (...lines: string[]): string => `#!/bin/sh\n${lines.join('\n')}\n`;
type Row = readonly [title: string, before: string, after: string];
const v2 = 'ETCD_ENABLE_V2=true';
const removed: readonly Row[] = [
  [
    'a variable of docker',
    start(`docker run -e ${v2} -v /var/lib/etcd:/d img etcd --name a`),
    start('docker run -v /var/lib/etcd:/d img etcd --name a'),
  ],
  [
    'a variable of docker in quotes',
    start(`docker run -e "${v2}" --net=host img etcd --name a`),
    start('docker run --net=host img etcd --name a'),
  ],
  [
    'a variable of docker on a continued line',
    start(`docker run \\\n  -e ${v2} \\\n  --net=host \\\n  img etcd --name a`),
    start('docker run \\\n  --net=host \\\n  img etcd --name a'),
  ],
  [
    'a variable of podman',
    start(`/usr/bin/podman run --env ${v2} --env=ETCD_NAME=b img etcd --data-dir=/d`),
    start('/usr/bin/podman run --env=ETCD_NAME=b img etcd --data-dir=/d'),
  ],
  [
    'a variable of podman in the same word',
    start(`/usr/bin/podman run --env=${v2} --env=ETCD_NAME=b img etcd --data-dir=/d`),
    start('/usr/bin/podman run --env=ETCD_NAME=b img etcd --data-dir=/d'),
  ],
  [
    'a variable of systemd-run',
    start(`systemd-run --setenv ${v2} --setenv=ETCD_NAME=b /usr/bin/etcd --data-dir=/d`),
    start('systemd-run --setenv=ETCD_NAME=b /usr/bin/etcd --data-dir=/d'),
  ],
  [
    'the short flag of systemd-run',
    start(`systemd-run -E ${v2} /usr/bin/etcd --data-dir=/d`),
    start('systemd-run /usr/bin/etcd --data-dir=/d'),
  ],
  ['a variable of env', start(`env ${v2} /usr/bin/etcd --name a`), start('env /usr/bin/etcd --name a')],
  [
    'an export of only this variable',
    start(`/bin/sh -c "export ${v2}; exec etcd --name a"`),
    start('/bin/sh -c "exec etcd --name a"'),
  ],
  [
    'an export with another variable',
    start(`/bin/sh -c "export ${v2} ETCD_NAME=a && exec etcd --data-dir=/d"`),
    start('/bin/sh -c "export ETCD_NAME=a && exec etcd --data-dir=/d"'),
  ],
  [
    'an export behind another command',
    script(`cd /; export ${v2}; exec etcd --name a`),
    script('cd /; exec etcd --name a'),
  ],
  [
    'an export in a compose file',
    compose(`command: sh -c "export ${v2}; exec etcd --name a"`),
    compose('command: sh -c "exec etcd --name a"'),
  ],
  [
    'an item of a list on one line',
    compose('command: ["etcd", "--enable-v2=true", "--name=a"]'),
    compose('command: ["etcd", "--name=a"]'),
  ],
  [
    'the last item of a list on one line',
    compose('command: [etcd, --name=a, --enable-v2=true]'),
    compose('command: [etcd, --name=a]'),
  ],
  [
    'the last item of a list over several lines',
    compose('command: [', '  "etcd",', '  "--name=a",', '  "--enable-v2=true"', ']'),
    compose('command: [', '  "etcd",', '  "--name=a"', ']'),
  ],
  [
    'a key of a mapping on one line',
    compose('environment: {ETCD_ENABLE_V2: "true", ETCD_NAME: a}'),
    compose('environment: {ETCD_NAME: a}'),
  ],
  [
    'one of two assignments of a unit',
    unit(`Environment="${v2}" "ETCD_NAME=a"`, 'ExecStart=/usr/bin/etcd'),
    unit('Environment="ETCD_NAME=a"', 'ExecStart=/usr/bin/etcd'),
  ],
  [
    'the last of several continued lines',
    start('/usr/bin/etcd \\\n  --name a \\\n  --enable-v2=true'),
    start('/usr/bin/etcd \\\n  --name a'),
  ],
  [
    'a variable that the command line inserts',
    script('V2="--enable-v2"', 'exec etcd --name a $V2'),
    script('V2=', 'exec etcd --name a $V2'),
  ],
  ['an environment file', `ETCD_NAME=a\nexport ${v2}\n`, 'ETCD_NAME=a\n'],
];
const kept: readonly (readonly [title: string, text: string])[] = [
  ['a flag that is completed behind a variable', script('V2="--enable-v2"', 'exec etcd $V2=true --name a')],
  ['a variable that is one word', script('V2="--enable-v2"', 'exec etcd --name a "$V2"')],
  ['the switch of sudo', start(`sudo -E ${v2} /usr/bin/etcd --name a`)],
  ['an export that another command needs', script(`cd / && export ${v2}; exec etcd --name a`)],
  ['an export whose result counts', script(`export ${v2} || exit 1; exec etcd --name a`)],
  ['the only command of a block', script('{', `  export ${v2}`, '}', 'exec etcd --name a')],
  ['a short flag in the same word', start(`docker run -e${v2} img etcd --name a`)],
  ['a flag on the line before', start(`docker run -e \\\n  ${v2} \\\n  --net=host img etcd --name a`)],
  [
    'a variable of a pod',
    'kind: Pod\napiVersion: v1\nspec:\n  containers:\n  - name: etcd\n    command: [etcd, --name=a]\n    env:\n    - name: ETCD_ENABLE_V2\n      value: "true"\n',
  ],
];
describe('a removed setting', () => {
  it.each(removed)('takes the words that belong to it: %s', async (_, before, after) => {
    const found = await migrate(before, '3.6');
    expect(found).toMatchObject({ text: after, elsewhere: [] });
    expect(found.changes).toHaveLength(1);
  });
  it.each(kept)('stays and is listed in another form: %s', async (_, text) => {
    const found = await migrate(text, '3.6');
    expect(found).toMatchObject({ text, changes: [] });
    expect(found.elsewhere).toHaveLength(1);
  });
});
describe('an added setting', () => {
  it.each([
    [
      'a variable of docker',
      start('docker run -e ETCD_CA_FILE=/c --net=host img etcd --name a'),
      start(
        'docker run -e ETCD_TRUSTED_CA_FILE=/c -e ETCD_CLIENT_CERT_AUTH=true --net=host img etcd --name a',
      ),
    ],
    [
      'an item of a list on one line',
      compose('command: ["etcd", "--ca-file=/c", "--name=a"]'),
      compose('command: ["etcd", "--trusted-ca-file=/c", "--client-cert-auth=true", "--name=a"]'),
    ],
    [
      'an export with the server behind it',
      script('export ETCD_CA_FILE=/c; exec etcd --name a'),
      script('export ETCD_TRUSTED_CA_FILE=/c ETCD_CLIENT_CERT_AUTH=true; exec etcd --name a'),
    ],
  ] satisfies readonly Row[])('has the form of its neighbor: %s', async (_, before, after) => {
    expect(await migrate(before, '3.4')).toMatchObject({ text: after, elsewhere: [] });
  });
});
describe('a changed text from which the servers read other settings', () => {
  it('is refused, and the setting is listed', async () => {
    const text = start('/usr/bin/etcd --enable-v2=true --name a');
    const { starts } = await read(text);
    const other = (await read(start('/usr/bin/etcd --name b'))).starts;
    for (const found of [other, [], [...starts, ...starts], starts])
      expect(
        await migrateSource(text, path, starts, { to: '3.6', when: 'after', readAgain: async () => found }),
      ).toMatchObject({ text, changes: [], elsewhere: [expect.stringContaining('--enable-v2')] });
  });
  it('changes a line that two servers share once', async () => {
    const text = compose('environment: &e', '  ETCD_ENABLE_V2: "true"', '  ETCD_NAME: a').concat(
      '  second:\n    image: etcd\n    environment: *e\n',
    );
    const found = await migrate(text, '3.6');
    expect(found).toMatchObject({ text: text.replace('      ETCD_ENABLE_V2: "true"\n', ''), elsewhere: [] });
    expect(found.changes).toHaveLength(1);
  });
});

it.each([
  ['etcd-wrapper', start('/usr/lib/coreos/etcd-wrapper --enable-v2=true')],
  ['rkt', start('/usr/bin/rkt run img -- --enable-v2=true')],
])('an error names the program %s, which opsctl does not know as a server', async (program, text) => {
  await expect(read(text)).rejects.toMatchObject({
    message: expect.stringContaining(`: ${program}`),
    detail: { code: 'NO_SERVER_SETTINGS' },
  });
});
