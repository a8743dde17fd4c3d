import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { argumentsLike } from '../../../../src/kv/upgrade/supervisors/container-arguments.ts';
import { containerState } from '../../../../src/kv/upgrade/supervisors/docker.ts';
import { openDriver } from '../../../../src/kv/upgrade/supervisors/open.ts';
import type { ClusterFile, MemberSpec } from '../../../../src/kv/engine/model.ts';
import { programHost, type ProgramHost } from '../../../support/programs.ts';
import { patient } from '../../../support/real-host.ts';
import { covers } from '../../../support/covers.ts';
import { watchProcesses } from '../../../support/secret-markers.ts';

let real: ProgramHost;
beforeEach(async () => {
  real = patient(await programHost());
});
let watching: { stop(): void } | undefined;
afterEach(() => {
  watching?.stop();
  watching = undefined;
});

/**
 * A daemon without processes: one directory per container id with its name, image, state and restart policy.
 * Images are their names.
 */
const daemon = (tool: string): void => {
  const at = real.at('daemon');
  mkdirSync(at, { recursive: true });
  real.program(
    tool,
    `D=${at}; echo "$*" >> ${real.at('calls')}
id() { for d in $D/*/; do d=\${d%/}; [ "\${d##*/}" = "$1" ] || [ "$(cat $d/name)" = "$1" ] && { echo "\${d##*/}"; return; }; done; return 1; }
case "$1" in
inspect) shift; f=; [ "$1" = -f ] && { f=$2; shift 2; }; i=$(id "$1") || exit 1
  case "$f" in
  "") echo '[{"Config":{"Image":"x","Env":["ETCD_NAME=n1","PATH=/bin","API_TOKEN=mark-short-1","KEYS=mark-long-1\\u000amark-long-2"],"Cmd":["--data-dir","/d"]},"HostConfig":{"NetworkMode":"host","Binds":["/d:/d"],"RestartPolicy":{"Name":"'$(cat $D/$i/restart)'"}}}]';;
  '{{.Id}}') echo $i;; '{{.Image}}') cat $D/$i/image;; '{{.State.Running}}') [ $(cat $D/$i/state) = running ] && echo true || echo false;;
  *RestartPolicy*) cat $D/$i/restart;; '{{.Config.StopSignal}}') echo;;
  *State.Status*) echo "$(cat $D/$i/state) 1 0 false false";; esac;;
image) case "$*" in *"{{.Id}}"*) eval "echo \\\${$#}";; *) echo '[{"Config":{"Env":["PATH=/bin"]}}]';; esac;;
rename) i=$(id "$2") || exit 1; id "$3" >/dev/null && exit 1; echo "$3" > $D/$i/name;;
update) i=$(id "$3") || exit 1; echo "\${2#--restart=}" > $D/$i/restart;;
kill|stop) for i; do :; done; i=$(id "$i") || exit 1; echo exited > $D/$i/state;;
start) i=$(id "$2") || exit 1; echo running > $D/$i/state; cat $D/$i/image >> ${real.at('started')};;
rm) for i; do :; done; i=$(id "$i") || exit 1; rm -r $D/$i;;
run) case "$*" in *--version*) echo "etcd Version: 3.4.23"; exit;; esac
  shift 3; n=$1; id $n >/dev/null && exit 125; i=id$(cat $D/../serial 2>/dev/null | wc -l); echo >> $D/../serial
  r=no; image=; while [ $# -gt 0 ]; do case "$1" in --restart) r=$2; shift;; kv:*) image=$1;; --env-file) cat $2 > ${real.at('env')}; shift;; esac; shift; done
  mkdir $D/$i; echo $n > $D/$i/name; echo $image > $D/$i/image; echo running > $D/$i/state; echo $r > $D/$i/restart; echo $image >> ${real.at('started')};;
esac`,
  );
  mkdirSync(`${at}/first`);
  for (const [key, value] of Object.entries({
    name: 'etcd1',
    image: 'kv:3.3',
    state: 'running',
    restart: 'always',
  }))
    writeFileSync(`${at}/first/${key}`, `${value}\n`);
};
const containers = (): Record<string, string> =>
  Object.fromEntries(
    readdirSync(real.at('daemon')).map((id) => {
      const of = (key: string): string => readFileSync(real.at(`daemon/${id}/${key}`), 'utf8').trim();
      return [of('name'), `${of('image')} ${of('state')} ${of('restart')}`];
    }),
  );
const member = (new_image: string): MemberSpec => ({
  name: 'n1',
  client_url: 'http://127.0.0.1:2379',
  container: 'etcd1',
  new_image,
});

describe.each(['docker', 'podman'] as const)('containers of %s', (tool) => {
  const open = (spec: MemberSpec) =>
    openDriver(real.host, { name: 'c', driver: tool, members: [spec] } satisfies ClusterFile);

  it(
    'containers are started, inspected, stopped, and reverted three times',
    covers('defect/U-5'),
    async () => {
      daemon(tool);
      const secretLines: string[] = [];
      watching = watchProcesses((words) => {
        if (/mark-(?:short|long)/.test(words)) secretLines.push(words);
      });
      const started: string[] = [];
      for (const [from, to, run] of [
        ['3.3', '3.4', 'r1'],
        ['3.4', '3.5', 'r2'],
      ] as const) {
        const spec = member(`kv:${to}`);
        const driver = await open(spec);
        expect((await driver.process(spec)).state).toBe('running');
        const placement = await driver.stage(spec, { from, to, run });
        expect(containers()['etcd1']).toBe(`kv:${from} running always`);
        for (const which of ['new', 'old', 'new'] as const) {
          expect(await driver.stop(spec, 60_000)).toBe(true);
          expect((await driver.process(spec)).state).toBe('gone');
          await driver.activate(spec, which, placement);
          // A run repeats these calls after a crash.
          await driver.activate(spec, which, placement);
          await driver.start(spec, which, placement);
          started.push(which === 'new' ? `kv:${to}` : `kv:${from}`);
        }
        // The previous container remains, and a restart of the daemon does not start it.
        expect(containers()[`etcd1-${from}-${run}`]).toBe(`kv:${from} exited no`);
        expect(containers()['etcd1']).toBe(`kv:${to} running always`);
      }
      expect(readFileSync(real.at('started'), 'utf8').trim().split('\n')).toEqual(started);
      // Values with one line are in a private file, and other values are in the environment of the tool.
      expect(readFileSync(real.at('env'), 'utf8')).toBe('ETCD_NAME=n1\nAPI_TOKEN=mark-short-1\n');
      expect(readFileSync(real.at('calls'), 'utf8')).toContain(' -e KEYS ');
      expect(readFileSync(real.at('calls'), 'utf8')).not.toMatch(/ETCD_NAME|mark-/);
      expect(secretLines).toEqual([]);
    },
  );

  it('containers are described by the executed commands, in order', covers('defect/U-28'), async () => {
    daemon(tool);
    const spec = member('kv:3.4');
    const driver = await open(spec);
    const placement = await driver.stage(spec, { from: '3.3', to: '3.4', run: 'r1' });
    const changing = (lines: readonly string[]): string[] =>
      lines
        .map((line) => line.replace(`${tool} `, '').split(' ')[0] ?? '')
        .filter((verb) => !['inspect', 'image', 'version', 'info'].includes(verb));
    const since = (before: number): string[] =>
      changing(readFileSync(real.at('calls'), 'utf8').trim().split('\n').slice(before));
    const calls = (): number => readFileSync(real.at('calls'), 'utf8').trim().split('\n').length;
    let before = calls();
    await driver.stop(spec, 60_000);
    expect(since(before)).toEqual(changing(driver.describe('stop', spec, 'new')));
    before = calls();
    await driver.activate(spec, 'new', placement);
    await driver.start(spec, 'new', placement);
    const described = driver.describe('start', spec, 'new');
    expect(since(before)).toEqual(changing(described));
    // The described name of the previous container and its image match the actual ones.
    const kept = /rename etcd1 (\S+)/.exec(described.join('\n'))?.[1];
    expect(kept?.replace('[version]', '3.3').replace('[run]', 'r1')).toBe('etcd1-3.3-r1');
    expect(Object.keys(containers()).toSorted()).toEqual(['etcd1', 'etcd1-3.3-r1']);
    expect(described.at(-1)).toMatch(/ run -d --name etcd1 .* kv:3\.4$/);
  });

  it('missing containers are never replaced by a guess', covers('defect/U-26'), async () => {
    daemon(tool);
    const spec = member('kv:3.4');
    const driver = await open(spec);
    const placement = await driver.stage(spec, { from: '3.3', to: '3.4', run: 'r' });
    await driver.stop(spec, 60_000);
    const lost = { ...placement, previous: { ...placement.previous, container_id: 'gone' } };
    await expect(driver.activate(spec, 'old', lost)).rejects.toThrow(/no longer exists/);
    expect(containers()).toEqual({ etcd1: 'kv:3.3 exited always' });
    expect(existsSync(real.at('daemon/first'))).toBe(true);
  });
});

it.each([
  ['running 42 0 false false', { state: 'running', pid: 42 }],
  ['created 0 0 false false', { state: 'starting', awaits: 'container c, which is created' }],
  ['exited 0 137 true false', { state: 'gone', reason: 'container c exited (exit code 137, out of memory)' }],
  [
    'restarting 0 2 false true',
    { state: 'gone', reason: 'container c exited (exit code 2) and waits for its next restart', exitCode: 2 },
  ],
])('a container that is %j', (line, state) => expect(containerState(line, 'c')).toEqual(state));

it(
  'an equal container on another image has its own settings, and image settings only from the new image',
  covers('spec/store#measured-service-managers-3'),
  () => {
    const container = {
      Config: {
        ...{ Image: 'kv:3.3', Hostname: '0123456789ab', User: '1000', WorkingDir: '/', Entrypoint: ['etcd'] },
        ...{
          Env: ['PATH=/bin', 'ETCD_NAME=n1', 'IMAGE=3.3'],
          Cmd: ['--data-dir', '/d'],
          Labels: { a: '1', b: '2' },
        },
      },
      HostConfig: {
        ...{
          NetworkMode: 'kv',
          Binds: ['/var/kv:/d'],
          RestartPolicy: { Name: 'no' },
        },
        ...{ PortBindings: { '2379/tcp': [{ HostIp: '10.0.0.1', HostPort: '2379' }] }, CapDrop: ['ALL'] },
        ...{
          Ulimits: [{ Name: 'nofile', Soft: 1, Hard: 2 }],
          LogConfig: { Type: 'json-file', Config: { 'max-size': '10m' } },
        },
        ...{
          Memory: 1024,
          ReadonlyRootfs: true,
          Mounts: [{ Type: 'volume', Source: 'v', Target: '/w', ReadOnly: true }],
        },
      },
      NetworkSettings: {
        Networks: { kv: { Aliases: ['n1', '0123456789ab'], IPAMConfig: { IPv4Address: '172.1.0.2' } } },
      },
    };
    const image = {
      Config: { Env: ['PATH=/bin', 'IMAGE=3.3'], Entrypoint: ['etcd'], Labels: { b: '2' }, WorkingDir: '/' },
    };
    const { words, env } = argumentsLike(container, image, 'sha256:new', 'on-failure:3');
    expect(env).toEqual(['ETCD_NAME=n1']);
    expect(words.join(' ')).toBe(
      '--restart on-failure:3 --network kv --ip 172.1.0.2 --network-alias n1 -v /var/kv:/d --mount type=volume,source=v,target=/w,readonly ' +
        '-p 10.0.0.1:2379:2379/tcp --cap-drop ALL --ulimit nofile=1:2 --memory 1024 --read-only --log-driver json-file --log-opt max-size=10m ' +
        '--user 1000 --label a=1 sha256:new --data-dir /d',
    );
  },
);
