import { describe, expect, it } from 'vitest';
import { readSource } from '../../../../src/kv/upgrade/configuration/sources.ts';
import { parseWords } from '../../../../src/kv/upgrade/configuration/values.ts';

const readerOf = (files: Readonly<Record<string, string>>) => ({
  read: async (path: string) => files[path],
  list: async (directory: string) =>
    Object.keys(files)
      .filter((path) => path.startsWith(`${directory}/`))
      .map((path) => path.slice(directory.length + 1)),
});
/** What opsctl understood: flags, variables and keys of each server, then `?` before each part that it could not read. */
const understood = async (path: string, text: string, files: Record<string, string> = {}) => {
  const { starts } = await readSource(text, path, readerOf({ [path]: text, ...files }));
  return starts.map(({ name, words, env, file, unread, unreadFile }) =>
    [
      ...(name === '' ? [] : [`[${name}]`]),
      ...[...parseWords(words).flags].map(([key, value]) => `${key}=${value}`),
      ...parseWords(words).strays.map((one) => `stray ${one}`),
      ...Object.entries(env)
        .filter(([key]) => key.startsWith('ETCD_'))
        .map(([key, value]) => `${key}=${value}`),
      ...Object.entries(file ?? {}).map(([key, value]) => `${key}: ${JSON.stringify(value)}`),
      ...unread.map((one) => `?${one}`),
      ...(unreadFile === undefined ? [] : [`?file ${unreadFile}`]),
    ].join(' | '),
  );
};
type Row = readonly [
  title: string,
  text: string,
  expected: readonly string[],
  files?: Record<string, string>,
];
const unit = (...lines: string[]): string => `[Unit]\nDescription=etcd\n[Service]\n${lines.join('\n')}\n`;
const start = (command: string): string => unit(`ExecStart=${command}`);
const system = '/etc/systemd/system';

const units: readonly (readonly [path: string, ...row: Row])[] = [
  // Specifiers and names of units.
  [
    `${system}/etcd.service`,
    'the host name as a specifier',
    start('/usr/bin/etcd --name %H --data-dir=/d/%n'),
    ['name=$(%H) | data-dir=/d/etcd.service | ?specifier %H'],
  ],
  [
    `${system}/etcd.service`,
    'a doubled percent sign',
    unit('Environment=ETCD_NAME=a%%b', 'ExecStart=/usr/bin/etcd'),
    ['ETCD_NAME=a%b'],
  ],
  [
    `${system}/etcd@.service`,
    'a template without a known instance',
    start('/usr/bin/etcd --name %i'),
    ['name=$(%i) | ?specifier %i'],
  ],
  [
    `${system}/etcd@n1.service`,
    'an instance and the files that its name selects',
    unit('EnvironmentFile=/etc/etcd/%i.env', 'ExecStart=/usr/bin/etcd --name %i'),
    ['name=n1 | ETCD_LOGGER=zap'],
    { '/etc/etcd/n1.env': 'ETCD_LOGGER=zap\n' },
  ],
  [
    `${system}/etcd@.service`,
    'a template once for each instance with drop-ins',
    start('/usr/bin/etcd --name %i'),
    [
      '[etcd@n1.service] | name=n1 | ETCD_AUTH_TOKEN=jwt | ETCD_LOGGER=zap',
      '[etcd@n2.service] | name=n2 | ETCD_LOGGER=zap',
    ],
    {
      [`${system}/etcd@.service.d/20.conf`]: '[Service]\nEnvironment=ETCD_LOGGER=zap\n',
      [`${system}/etcd@n1.service.d/10.conf`]: '[Service]\nEnvironment=ETCD_AUTH_TOKEN=jwt\n',
      [`${system}/etcd@n2.service.d/x.txt`]: '',
    },
  ],
  [
    `${system}/etcd@n1.service`,
    'the drop-in of the instance replaces the one of the template',
    start('/usr/bin/etcd'),
    ['ETCD_NAME=b'],
    {
      [`${system}/etcd@.service.d/10.conf`]: '[Service]\nEnvironment=ETCD_NAME=a\n',
      [`${system}/etcd@n1.service.d/10.conf`]: '[Service]\nEnvironment=ETCD_NAME=b\n',
    },
  ],
  [
    `${system}/etcd-events.service`,
    'drop-ins of a prefix and of all services',
    start('/usr/bin/etcd'),
    ['ETCD_LOGGER=zap | ETCD_NAME=a'],
    {
      [`${system}/etcd-.service.d/10.conf`]: '[Service]\nEnvironment=ETCD_NAME=a\n',
      [`${system}/service.d/05.conf`]: '[Service]\nEnvironment=ETCD_LOGGER=zap\n',
    },
  ],
  [
    '/usr/lib/systemd/system/etcd.service',
    'a unit that another file replaces',
    start('/usr/bin/etcd --name a'),
    [`name=a | ?${system}/etcd.service, which replaces this unit`],
    { [`${system}/etcd.service`]: start('/usr/bin/etcd --name b') },
  ],
  [
    `${system}/etcd.service.d/10.conf`,
    'a drop-in with its unit',
    '[Service]\nEnvironment=ETCD_LOGGER=zap\n',
    ['name=a | ETCD_LOGGER=zap'],
    { '/usr/lib/systemd/system/etcd.service': start('/usr/bin/etcd --name a') },
  ],
  [
    `${system}/etcd@n1.service.d/10.conf`,
    'a drop-in of an instance',
    '[Service]\nEnvironment=ETCD_LOGGER=zap\n',
    ['name=n1 | ETCD_LOGGER=zap'],
    { [`${system}/etcd@.service`]: start('/usr/bin/etcd --name %i') },
  ],
  [
    '/repo/etcd.service.d/10.conf',
    'a drop-in without its unit',
    '[Service]\nEnvironment=ETCD_LOGGER=zap\n',
    ['ETCD_LOGGER=zap | ?unit etcd.service'],
  ],
  // Variables.
  [
    `${system}/etcd.service`,
    'several environment files, and the order of all sources',
    unit(
      'EnvironmentFile=/a',
      'EnvironmentFile=-/b',
      'Environment=ETCD_NAME=x ETCD_LOGGER=x "ETCD_METRICS=a b"',
      'ExecStart=/usr/bin/etcd',
    ),
    ['ETCD_NAME=b | ETCD_LOGGER=a | ETCD_METRICS=a b'],
    { '/a': 'ETCD_NAME=a\nETCD_LOGGER=a\n', '/b': 'ETCD_NAME=b\n' },
  ],
  [
    `${system}/etcd.service`,
    'environment files of a wildcard',
    unit('EnvironmentFile=/etc/etcd/*.env', 'ExecStart=/usr/bin/etcd'),
    ['ETCD_NAME=b'],
    { '/etc/etcd/1.env': 'ETCD_NAME=a\n', '/etc/etcd/2.env': 'ETCD_NAME=b\n' },
  ],
  [
    `${system}/etcd.service`,
    'an optional file that does not exist',
    unit('EnvironmentFile=-/x', 'ExecStart=/usr/bin/etcd --name a'),
    ['name=a | ?EnvironmentFile /x (optional)'],
  ],
  [
    `${system}/etcd.service`,
    'empty assignments of a drop-in',
    unit('Environment=ETCD_NAME=a', 'EnvironmentFile=/a', 'ExecStart=/usr/bin/etcd --debug'),
    ['name=b'],
    {
      '/a': 'ETCD_LOGGER=zap\n',
      [`${system}/etcd.service.d/1.conf`]:
        '[Service]\nEnvironment=\nEnvironmentFile=\nExecStart=\nExecStart=/usr/bin/etcd --name b\n',
    },
  ],
  [
    `${system}/etcd.service`,
    'a variable that is removed again',
    unit('Environment=ETCD_NAME=a ETCD_LOGGER=zap', 'UnsetEnvironment=ETCD_NAME', 'ExecStart=/usr/bin/etcd'),
    ['ETCD_LOGGER=zap'],
  ],
  [
    `${system}/etcd.service`,
    'a variable that the manager passes on',
    unit('PassEnvironment=ETCD_NAME', 'ExecStart=/usr/bin/etcd --debug'),
    ['debug=true | ?variable ETCD_NAME'],
  ],
  [
    `${system}/etcd.service`,
    'a quote that is not closed',
    unit('Environment="ETCD_NAME=a', 'ExecStart=/usr/bin/etcd --debug'),
    [`debug=true | ?Environment= in ${system}/etcd.service:4, which has a quote that is not closed`],
  ],
  [
    `${system}/etcd.service`,
    'a dollar sign in a word is not a variable',
    unit('Environment=N=a', 'ExecStart=/usr/bin/etcd --name=${N} --initial-cluster-token=$$x'),
    ['name=a | initial-cluster-token=$x'],
  ],
  [
    `${system}/etcd.service`,
    'an included unit',
    '.include /usr/lib/systemd/system/etcd.service\n[Service]\nEnvironment=ETCD_NAME=a\n',
    ['ETCD_NAME=a | ?/usr/lib/systemd/system/etcd.service'],
    { '/usr/lib/systemd/system/etcd.service': start('/usr/bin/etcd') },
  ],
  [
    `${system}/etcd.service`,
    'a relative configuration file in the working directory',
    unit('WorkingDirectory=/etc/etcd', 'ExecStart=/usr/bin/etcd --config-file=./e.yml'),
    ['config-file=./e.yml | name: "a"'],
    { '/etc/etcd/e.yml': 'name: a\n' },
  ],
  [
    `${system}/etcd.service`,
    'a root directory',
    unit('RootDirectory=/srv/etcd', 'ExecStart=/usr/bin/etcd --config-file=/e.yml'),
    ['config-file=/e.yml | ?file /e.yml'],
    { '/e.yml': 'name: wrong\n' },
  ],
  [
    `${system}/etcd.service`,
    'prefix characters and another name of the program',
    start('-@/usr/bin/etcd etcd-main --name a'),
    ['name=a'],
  ],
  [
    `${system}/etcd.service`,
    'a command line without expansion',
    unit('Environment=N=a', 'ExecStart=:/usr/bin/etcd --name ${N}'),
    ['name=${N}'],
  ],
  // Wrappers.
  [
    `${system}/etcd.service`,
    'a shell that counts processors',
    unit(
      'EnvironmentFile=/e',
      'ExecStart=/bin/bash -c "GOMAXPROCS=$(nproc) /usr/bin/etcd --name=\\"${ETCD_NAME}\\""',
    ),
    ['name=n1 | ETCD_NAME=n1'],
    { '/e': 'ETCD_NAME=n1\n' },
  ],
  [
    `${system}/etcd.service`,
    'a shell that expands a variable of the unit',
    unit('Environment="ARGS=--debug --name a"', "ExecStart=/bin/sh -c 'exec /usr/bin/etcd $ARGS'"),
    ['debug=true | name=a'],
  ],
  [
    `${system}/etcd.service`,
    'a shell that reads a file of variables',
    start("/bin/sh -c 'set -a; . /etc/etcd.env; set +a; exec /usr/bin/etcd >>/var/log/etcd.log 2>&1'"),
    ['ETCD_NAME=a'],
    { '/etc/etcd.env': 'ETCD_NAME=a\n' },
  ],
  [
    `${system}/etcd.service`,
    'a shell that reads a file without exporting it',
    start("/bin/sh -c '. /etc/etcd.env; exec /usr/bin/etcd --name $ETCD_NAME'"),
    ['name=a'],
    { '/etc/etcd.env': 'ETCD_NAME=a\n' },
  ],
  [
    `${system}/etcd.service`,
    'arguments from the output of a command',
    start("/bin/sh -c 'exec /usr/local/bin/etcd $(cat /etc/etcd/etcd.args)'"),
    ['stray $(cat /etc/etcd/etcd.args) | ?output of $(cat /etc/etcd/etcd.args)'],
  ],
  [
    `${system}/etcd.service`,
    'operators around the server',
    start("/bin/sh -c 'ulimit -n 65536 && mkdir -p /d; exec etcd --name $(hostname -s) --debug | tee /log'"),
    ['name=$(hostname -s) | debug=true | ?output of $(hostname -s)'],
  ],
  [
    `${system}/etcd.service`,
    'env with variables',
    start('/usr/bin/env -u X ETCD_CLIENT_CERT_AUTH=true GOGC=50 /usr/bin/etcd --name a'),
    ['name=a | ETCD_CLIENT_CERT_AUTH=true'],
  ],
  [
    `${system}/etcd.service`,
    'env that clears the environment',
    unit('Environment=ETCD_NAME=a', 'ExecStart=/usr/bin/env -i ETCD_LOGGER=zap /usr/bin/etcd'),
    ['ETCD_LOGGER=zap'],
  ],
  [
    `${system}/etcd.service`,
    'nice and ionice',
    start('/usr/bin/nice -n -5 /usr/bin/ionice -c2 -n0 /usr/bin/etcd --name a'),
    ['name=a'],
  ],
  [`${system}/etcd.service`, 'taskset', start('/usr/bin/taskset -c 0,1 /usr/bin/etcd --name a'), ['name=a']],
  [
    `${system}/etcd.service`,
    'chroot',
    start('/usr/sbin/chroot --userspec=etcd:etcd /srv /usr/bin/etcd --config-file /e.yml'),
    ['config-file=/e.yml | ?file /e.yml'],
    { '/e.yml': 'name: wrong\n' },
  ],
  [
    `${system}/etcd.service`,
    'setpriv',
    start('/usr/bin/setpriv --reuid etcd --regid etcd --init-groups /usr/bin/etcd --name a'),
    ['name=a'],
  ],
  [
    `${system}/etcd.service`,
    'su with a shell',
    start('/bin/su -s /bin/sh etcd -c "exec /usr/bin/etcd --name a --debug"'),
    ['name=a | debug=true'],
  ],
  [
    `${system}/etcd.service`,
    'su without a shell',
    unit('Environment=ETCD_NAME=a', "ExecStart=/bin/su - etcd -c '/usr/bin/etcd --debug'"),
    ['debug=true'],
  ],
  [
    `${system}/etcd.service`,
    'runuser',
    start('/usr/sbin/runuser -u etcd -- /usr/bin/etcd --name a'),
    ['name=a'],
  ],
  [
    `${system}/etcd.service`,
    'sudo to a user of the same name',
    start('/usr/bin/sudo -u etcd ETCD_LOGGER=zap /usr/bin/etcd --name a'),
    ['name=a | ETCD_LOGGER=zap'],
  ],
  [
    `${system}/etcd.service`,
    'start-stop-daemon',
    start('/sbin/start-stop-daemon --start --chuid etcd --exec /usr/bin/etcd -- --name a --debug'),
    ['name=a | debug=true'],
  ],
  [
    `${system}/etcd.service`,
    'an unknown wrapper',
    start('/opt/wrap --user etcd /usr/bin/etcd --name a'),
    ['name=a | ?program wrap, which starts the server'],
  ],
  [
    `${system}/etcd.service`,
    'docker run with an image of the same name',
    start(
      '/usr/bin/docker run --rm --name etcd --net=host -v /d:/d -e ETCD_NAME=a -e ETCD_LOGGER --env-file /e quay.io/coreos/etcd /usr/local/bin/etcd --debug',
    ),
    ['debug=true | ETCD_AUTH_TOKEN=simple | ETCD_NAME=a | ?variable ETCD_LOGGER'],
    { '/e': 'ETCD_AUTH_TOKEN=simple\n' },
  ],
  [
    `${system}/etcd.service`,
    'docker run with an entrypoint',
    start('/usr/bin/docker run --entrypoint=/usr/bin/etcd img:1 --name a'),
    ['name=a'],
  ],
  [`${system}/etcd.service`, 'rkt and a script of the operator', start('/opt/start-etcd.sh --debug'), []],
  [
    '/etc/containers/systemd/etcd.container',
    'a quadlet',
    '[Container]\nImage=quay.io/coreos/etcd:v3.5\nEnvironment=ETCD_NAME=%p\nEnvironmentFile=etcd.env\nSecret=tok,type=env,target=ETCD_AUTH_TOKEN\nPodmanArgs=--env ETCD_METRICS=basic\nExec=/usr/local/bin/etcd --debug\n',
    [
      'debug=true | ETCD_NAME=etcd | ETCD_LOGGER=zap | ETCD_METRICS=basic | ?secret tok,type=env,target=ETCD_AUTH_TOKEN',
    ],
    { '/etc/containers/systemd/etcd.env': 'ETCD_LOGGER=zap\n' },
  ],
];

const pod = (container: string, more = ''): string =>
  `apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: etcd\n${container
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n')}\n${more}`;
const map =
  '---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: env}\ndata: {ETCD_LOGGER: zap, NODE: a}\n';
const manifests: readonly Row[] = [
  [
    'a ConfigMap of the same file',
    pod('command: [etcd]\nenvFrom: [{configMapRef: {name: env}}]', map),
    ['[etcd] | ETCD_LOGGER=zap'],
  ],
  [
    'a ConfigMap of another file',
    pod('command: [etcd, --name=a]\nenvFrom: [{configMapRef: {name: env}}, {secretRef: {name: s}}]'),
    ['[etcd] | name=a | ?envFrom configMap env | ?envFrom secret s'],
  ],
  [
    'a prefix',
    pod(
      'command: [etcd]\nenvFrom: [{prefix: ETCD_, configMapRef: {name: env}}]',
      map.replace('ETCD_LOGGER', 'LOGGER'),
    ),
    ['[etcd] | ETCD_LOGGER=zap | ETCD_NODE=a'],
  ],
  [
    'a key of a ConfigMap',
    pod(
      'command: [etcd, --name=$(NODE)]\nenv: [{name: NODE, valueFrom: {configMapKeyRef: {name: env, key: NODE}}}]',
      map,
    ),
    ['[etcd] | name=a'],
  ],
  [
    'a field of the pod',
    pod(
      'command: [etcd, --name=$(NODE)]\nenv: [{name: NODE, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]',
    ),
    ['[etcd] | name=$(NODE) | ?variable NODE'],
  ],
  [
    'a variable that nothing sets',
    pod('command: [etcd, --name=$(NODE)]'),
    ['[etcd] | name=$(NODE) | ?variable NODE'],
  ],
  [
    'an escaped variable',
    pod('command: [etcd, --name=$$(NODE)]'),
    ['[etcd] | name=$(NODE) | ?variable NODE'],
  ],
  [
    'a variable that refers to an earlier one',
    pod('command: [etcd]\nenv: [{name: A, value: b}, {name: ETCD_NAME, value: "x-$(A)"}]'),
    ['[etcd] | ETCD_NAME=x-b'],
  ],
  [
    'a shell with operators',
    pod(
      'command: [/bin/sh, -ec, "IP=1.2.3.4; exec etcd --name a --listen-peer-urls http://${IP}:2380 2>&1"]',
    ),
    ['[etcd] | name=a | listen-peer-urls=http://1.2.3.4:2380'],
  ],
  [
    'a shell with a condition',
    pod(
      'command: [/bin/sh, -c]\nargs: ["if [ -d /d ]; then S=existing; else S=new; fi; exec etcd --initial-cluster-state=$S"]',
    ),
    ['[etcd] | initial-cluster-state=$S | ?variable S'],
  ],
  ['tini', pod('command: [/sbin/tini, --, etcd, --name=a]'), ['[etcd] | name=a']],
  [
    'dumb-init',
    pod('command: [/usr/bin/dumb-init, --single-child, --, etcd, --name=a]'),
    ['[etcd] | name=a'],
  ],
  [
    'flags for the entrypoint of the image',
    pod('args: [--name, a, --debug]'),
    ['[etcd] | name=a | debug=true'],
  ],
  [
    'an init container that always restarts',
    'apiVersion: v1\nkind: Pod\nspec:\n  initContainers:\n  - {name: e, restartPolicy: Always, command: [etcd, --name=a]}\n  containers: [{name: x, command: [sleep, "1"]}]\n',
    ['[e] | name=a'],
  ],
  [
    'a template',
    pod('command: [etcd, "--name={{ inventory_hostname }}", --debug]'),
    ['[etcd] | name=$(template) | debug=true | ?template {{ inventory_hostname }}'],
  ],
];

const compose: readonly Row[] = [
  [
    'a service that extends another one',
    'services:\n  base:\n    environment: {ETCD_LOGGER: zap, ETCD_NAME: x}\n    command: sleep 1\n  n1:\n    extends: {service: base}\n    environment: [ETCD_NAME=n1]\n    command: etcd --debug\n',
    ['[base] | ETCD_LOGGER=zap | ETCD_NAME=x', '[n1] | debug=true | ETCD_LOGGER=zap | ETCD_NAME=n1'],
  ],
  [
    'a service of another file',
    'services:\n  n1:\n    extends: {file: common/c.yml, service: base}\n    command: etcd\n',
    ['[n1] | ETCD_LOGGER=zap | ETCD_METRICS=basic'],
    {
      '/d/common/c.yml': 'services:\n  base: {env_file: e.env, environment: [ETCD_METRICS=basic]}\n',
      '/d/common/e.env': 'ETCD_LOGGER=zap\n',
    },
  ],
  [
    'a service of a file that cannot be read',
    'services:\n  n1:\n    extends: {file: c.yml, service: base}\n    command: etcd --name a\n',
    ['[n1] | name=a | ?service base of /d/c.yml, which n1 extends'],
  ],
  [
    'environment files in each form',
    'services:\n  n1:\n    env_file: [a.env, {path: ./b.env, required: false}, {path: c.env}]\n    command: etcd\n',
    ['[n1] | ETCD_NAME=a | ?/d/b.env (optional) | ?/d/c.env'],
    { '/d/a.env': 'ETCD_NAME=a\n' },
  ],
  [
    'defaults of variables',
    'services:\n  n1:\n    command: etcd --name ${N:-a} --metrics=${M-} --log-level=${L:?} --auth-token=${T:-${U:-simple}}\n',
    ['[n1] | name=a | metrics= | log-level=${L:?} | auth-token=simple | ?variable L'],
  ],
  [
    'anchors, merge keys and extension fields',
    'x-e: &e\n  image: etcd\n  environment: &v {ETCD_LOGGER: zap}\nservices:\n  n1:\n    <<: *e\n    environment: {<<: *v, ETCD_NAME: n1}\n    command: etcd\n',
    ['[n1] | ETCD_LOGGER=zap | ETCD_NAME=n1'],
  ],
  ['profiles', 'services:\n  n1: {profiles: [ha], command: etcd --name n1}\n', ['[n1] | name=n1']],
  [
    'an override file',
    'services:\n  n1: {command: etcd --name n1, environment: {ETCD_LOGGER: zap}}\n',
    ['[n1] | debug=true | ETCD_LOGGER=zap | ETCD_METRICS=basic'],
    {
      '/d/compose.override.yaml':
        'services:\n  n1: {command: etcd --debug, environment: [ETCD_METRICS=basic]}\n',
    },
  ],
  [
    'an included file',
    'include: [sub/c.yml, missing.yml]\nservices:\n  n1: {command: etcd --name n1}\n',
    ['[n1] | name=n1 | ?/d/missing.yml', '[n2] | name=n2 | ?/d/missing.yml'],
    { '/d/sub/c.yml': 'services:\n  n2: {command: etcd --name n2}\n' },
  ],
  [
    'the first version of the format',
    'etcd:\n  image: quay.io/coreos/etcd\n  command: etcd --name n1\n  environment: [ETCD_LOGGER=zap]\n',
    ['[etcd] | name=n1 | ETCD_LOGGER=zap'],
  ],
  [
    'a shell as the entrypoint',
    'services:\n  n1:\n    entrypoint: bash -c "/opt/etcd --name $$HOSTNAME --debug"\n',
    ['[n1] | name=$HOSTNAME | debug=true | ?variable HOSTNAME'],
  ],
  [
    'a variable of the shell that starts compose',
    'services:\n  n1: {command: etcd, environment: [ETCD_NAME]}\n',
    ['[n1] | ?variable ETCD_NAME'],
  ],
];

const commands: readonly Row[] = [
  [
    'a script with exported variables',
    '#!/bin/sh\nIP=$(hostname -i)\nexport ETCD_NAME=a\nexport ETCD_LISTEN_PEER_URLS="http://$IP:2380"\nexec /usr/local/bin/etcd\n',
    ['ETCD_NAME=a | ETCD_LISTEN_PEER_URLS=http://$(hostname -i):2380 | ?output of $(hostname -i)'],
  ],
  [
    'a script that passes its arguments on',
    '#!/bin/sh -e\nset -a\nsource /b.conf\nset +a\nexec /usr/local/bin/etcd "$@"\n',
    ['?/b.conf | ?arguments of the script'],
  ],
  [
    'a script with two starts',
    '#!/bin/sh\nif [ $ID -eq 0 ]; then\n  exec etcd --name a\nelse\n  exec etcd --name b --debug\nfi\n',
    ['name=a', 'name=b | debug=true'],
  ],
  [
    'systemd-run',
    'systemd-run --unit etcd -p User=etcd -E ETCD_LOGGER=zap /usr/bin/etcd --name a\n',
    ['name=a | ETCD_LOGGER=zap'],
  ],
  ['a background command with redirections', 'nohup etcd --name a > /var/log/etcd.log 2>&1 &\n', ['name=a']],
  [
    'docker run of a published guide',
    'docker run -d \\\n  -p 2379:2379 \\\n  --name etcd --network etcd --restart=always \\\n  quay.io/coreos/etcd:v3.5.0 \\\n  /usr/local/bin/etcd \\\n  -advertise-client-urls http://0.0.0.0:2379 --logger zap\n',
    ['advertise-client-urls=http://0.0.0.0:2379 | logger=zap'],
  ],
  [
    'docker run with flags of the entrypoint',
    'docker run -it --rm -u etcd bitnami/etcd:latest --name a\n',
    ['name=a'],
  ],
  ['a variable in front of the server', 'ETCD_LOGGER=zap etcd --name a\n', ['name=a | ETCD_LOGGER=zap']],
];

const rows = (path: string, given: readonly Row[]) => given.map((row) => [path, ...row] as const);
describe.each([
  ['a unit', units],
  ['a manifest', rows('/m/etcd.yaml', manifests)],
  ['a compose file', rows('/d/compose.yaml', compose)],
  ['a command', rows('/d/start', commands)],
])('%s is understood, or the unknown part is listed', (_, given) => {
  it.each(given.map((row) => [row[1], row] as const))(
    'with %s',
    async (_title, [path, , text, expected, files]) => {
      if (expected.length === 0)
        await expect(understood(path, text, files)).rejects.toMatchObject({
          detail: { code: 'NO_SERVER_SETTINGS' },
        });
      else expect(await understood(path, text, files)).toEqual(expected);
    },
  );
});
