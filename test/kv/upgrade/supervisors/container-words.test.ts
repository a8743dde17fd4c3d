import { serviceTexts } from '../../../support/service-texts.ts';
import { describe, expect, it } from 'vitest';
import { containerService, containerState } from '../../../../src/kv/upgrade/supervisors/docker.ts';
import { argumentsLike, lostSettings } from '../../../../src/kv/upgrade/supervisors/container-arguments.ts';
import { done, placement } from '../../../support/finished.ts';
import type { Finished } from '../../../../src/platform/host.ts';
import type { ClusterFile, MemberSpec, Placement } from '../../../../src/kv/engine/model.ts';
import { naming } from '../../../support/facts.ts';
import { covers } from '../../../support/covers.ts';

const member: MemberSpec = { name: 'n1', client_url: 'http://h:2379', container: 'c1' };
const cluster: ClusterFile = { name: 'c', members: [member] };

describe('a container', () => {
  const why = 'container c exited (exit code 3)';
  const created = { state: 'starting', awaits: 'container c, which is created' };
  it.each<[string, unknown]>([
    ['running 42 0 false false', { state: 'running', pid: 42 }],
    ['paused 42 0 false false', { state: 'running', pid: 42 }],
    ['created 0 0 false false', created],
    ['configured 0 0 false false', created],
    ['initialized 0 0 false false', created],
    ['exited 0 3 false false', { state: 'gone', reason: why, exitCode: 3 }],
    ['stopping 42 0 false false', { state: 'running', pid: 42 }],
    ['dead 0 3 false false', { state: 'gone', reason: why, exitCode: 3 }],
    ['stopped 0 3 false false\n', { state: 'gone', reason: why, exitCode: 3 }],
    ['removing 0 3 false false', { state: 'gone', reason: why, exitCode: 3 }],
    [
      'exited 0 137 true false',
      { state: 'gone', reason: naming('c', '137', 'out of memory', 'container', 'exited') },
    ],
    ['odd 0 0 false false', { state: 'unknown', reason: 'container c is odd' }],
    ['', { state: 'unknown', reason: naming('c', 'container', 'state') }],
  ])('%j', (line, state) => expect(containerState(line, 'c')).toEqual(state));
  const service = serviceTexts(containerService('docker')(cluster));
  it('the state is `gone` for a missing container, and `unknown` if its daemon does not respond', () => {
    const of = (patch: Partial<Finished>) => service.stateFrom(done(patch), member, false);
    expect(of({ stdout: 'state=running 7 0 false false\n' })).toEqual({ state: 'running', pid: 7 });
    for (const stdout of ['', 'state=\n', 'state= \n'])
      expect(of({ stdout })).toEqual({ state: 'gone', reason: naming('c1', 'container') });
    expect(of({ code: 9, stderr: 'docker does not answer' })).toEqual({
      ...{ state: 'unknown', reason: naming('docker') },
    });
  });
  it('a container is stopped within the time', () => {
    expect(service.stop(member, 1500)).toContain('[ $i -gt 20 ] && exit 1');
  });
  it('podman stops a container with `podman stop`', () => {
    const podman = serviceTexts(containerService('podman')(cluster));
    expect(podman.stop(member, 1500)).toMatch(/^timeout 2 podman stop --time \d{5} 'c1'/m);
    expect(podman.kill(member)).toBe("podman stop --time 0 'c1' >/dev/null");
    expect(podman.describe('stop', member, 'new')).toEqual([expect.stringMatching(/^podman stop .*c1$/)]);
  });
  it.each([
    { tool: 'podman', policy: 'always', help: '', isRefused: true },
    { tool: 'podman', policy: 'always', help: '  --restart string', isRefused: false },
    { tool: 'podman', policy: 'unless-stopped', help: '', isRefused: false },
    { tool: 'podman', policy: 'on-failure', help: '', isRefused: false },
    { tool: 'docker', policy: 'always', help: '', isRefused: false },
  ] as const)(
    '$tool refuses the restart policy $policy with the help $help: $isRefused',
    covers('spec/store#measured-service-managers-4'),
    async ({ tool, policy, help, isRefused }) => {
      const inspected = JSON.stringify([{ HostConfig: { RestartPolicy: { Name: policy } } }]);
      const ask = async (script: unknown): Promise<string> =>
        String(script).includes('update --help') ? help : inspected;
      for (const patch of [{ new_image: 'kv:2' }, { new_command: ['run', '{image}'] }]) {
        const problems = await containerService(tool)(cluster).problems?.({ ...member, ...patch }, ask);
        expect(problems).toEqual(isRefused ? [naming('always', 'podman', '--restart unless-stopped')] : []);
      }
    },
  );
  it('a container is queried for its version on the image, by its program', () => {
    const of = (which: 'old' | 'new', patch: object) => service.version({ ...member, ...patch }, which);
    expect(of('new', {})).toBeUndefined();
    expect(of('new', { new_image: 'kv:2' })).toContain("--entrypoint 'etcd' 'kv:2' --version");
    expect(of('new', { new_image: 'kv:2', new_binary: '/kvd' })).toContain("--entrypoint '/kvd' 'kv:2'");
    expect(of('old', {})).toContain("--entrypoint 'etcd' \"$(docker inspect");
    expect(of('old', { old_binary: '/kvd' })).toContain("--entrypoint '/kvd' \"$(");
  });
  const kept = placement({ container: 'c1-3.4-r', container_id: 'id1', image: 'i1' }, { image: 'i2' });
  it('a container is recreated only from its record', async () => {
    const start = async (
      which: 'old' | 'new',
      given: Placement | undefined,
      patch: object,
      answers: unknown[] = [],
    ) => {
      const script = containerService('docker')(cluster).start({ ...member, ...patch }, which, given);
      return String(
        typeof script === 'function' ? await script(async () => JSON.stringify(answers.shift())) : script,
      );
    };
    expect(await start('old', undefined, {})).toBe("docker start 'c1' >/dev/null");
    expect(await start('new', undefined, {})).toContain(
      'echo "no record of the previous container" >&2; exit 3',
    );
    expect(await start('new', kept, { new_command: ['run', '{image}', '{name}'] })).toContain(
      '\nrun i2 n1 >/dev/null',
    );
    const env = [{ Config: { Env: ['A=1'] } }];
    expect(await start('new', kept, {}, [env, [{}]])).toContain(`--name 'c1' --env-file "$F" i2 >/dev/null`);
    expect(await start('new', kept, {}, [[], []])).toContain(`--name 'c1' i2 >/dev/null`);
    await expect(start('new', kept, {})).rejects.toThrow('container c1-3.4-r');
  });
  it('gets its restart policy back with its name', () => {
    const old = (restart?: string) =>
      service.activate?.(
        member,
        'old',
        placement({ ...kept.previous, ...(restart === undefined ? {} : { restart }) }, {}),
      );
    expect(old('always')).toContain("docker update --restart='always' 'id1'");
    for (const none of [undefined, 'no', '']) expect(old(none)).not.toContain('docker update');
    expect(service.activate?.(member, 'new', kept)).toContain("docker rename 'id1' 'c1-3.4-r'");
    expect(service.activate?.(member, 'old', kept)).toContain("docker rename 'id1' 'c1'");
    expect(service.activate?.(member, 'new', undefined)).toBe('true');
    expect(service.activate?.(member, 'new', placement({}, {}))).toBe('true');
  });
  it('a container is described by the commands of a person', () => {
    const told = (kind: 'stop' | 'start' | 'gate', patch: object = {}) =>
      service.describe(kind, { ...member, new_image: 'kv:2', ...patch }, 'new');
    expect(told('stop')).toEqual(['docker kill --signal=[its stop signal] c1']);
    expect(told('gate')).toEqual([]);
    expect(told('start').at(-1)).toBe('docker run -d --name c1 [the same arguments] kv:2');
    expect(told('start', { new_command: ['run', '{image}'] }).at(-1)).toBe('run kv:2');
  });
});

describe('the arguments of an equal container', () => {
  const words = (container: object, image: object = {}, restart?: string) =>
    argumentsLike(container as never, image as never, 'new', restart).words.join(' ');
  const host = (HostConfig: object) => words({ HostConfig });
  it('arguments of an empty container are unchanged', () => expect(words({})).toBe('new'));
  it.each<[object, string]>([
    [{ NetworkMode: 'default' }, 'new'],
    [{ NetworkMode: 'bridge' }, 'new'],
    [{ NetworkMode: 'host' }, '--network host new'],
    [{ Memory: 0 }, 'new'],
    [{ Memory: 1 }, '--memory 1 new'],
    [{ Privileged: true }, '--privileged new'],
    [{ Privileged: false, ReadonlyRootfs: false }, 'new'],
    [{ PidMode: 'host' }, '--pid host new'],
    [{ PidMode: '' }, 'new'],
    [{ LogConfig: { Type: '', Config: null } }, 'new'],
    [{ Tmpfs: { '/t': '', '/u': 'size=1' } }, '--tmpfs /t --tmpfs /u:size=1 new'],
    [{ Binds: null, Mounts: null, Ulimits: null, CapAdd: 'x' }, 'new'],
    [
      { Binds: ['/a:/b', 7], ExtraHosts: ['h:1'], Dns: ['d'], GroupAdd: ['g'] },
      '-v /a:/b --add-host h:1 --dns d --group-add g new',
    ],
    [{ CapAdd: ['A'], SecurityOpt: ['s'] }, '--cap-add A --security-opt s new'],
    [{ Mounts: [{ Target: '/w' }, {}] }, '--mount type=bind,target=/w --mount type=bind,target= new'],
    [{ PortBindings: { '1/tcp': [{ HostPort: '2' }, {}], '3/tcp': null } }, '-p 2:1/tcp -p :1/tcp new'],
    [
      { Devices: [{ PathOnHost: '/dev/a', PathInContainer: '/dev/b', CgroupPermissions: 'rwm' }] },
      '--device /dev/a:/dev/b:rwm new',
    ],
    [{ Sysctls: { 'net.core.somaxconn': '9' }, StorageOpt: null }, '--sysctl net.core.somaxconn=9 new'],
    [{ Ulimits: [{ Name: 'nofile', Soft: 1, Hard: 2 }] }, '--ulimit nofile=1:2 new'],
    [
      { CapDrop: ['ALL'], DeviceCgroupRules: ['c 1:3 mr'] },
      '--cap-drop ALL --device-cgroup-rule c 1:3 mr new',
    ],
    [
      { CpuShares: 5, CpusetCpus: '0', PidsLimit: 9, ShmSize: 7 },
      '--cpu-shares 5 --cpuset-cpus 0 --pids-limit 9 --shm-size 7 new',
    ],
    [{ NanoCpus: 1_500_000_000, OomScoreAdj: -5, Init: true }, '--init --oom-score-adj -5 --cpus 1.5 new'],
    [{ Memory: 4, MemorySwap: 8 }, '--memory 4 new'],
    [{ Memory: 4, MemorySwap: -1, PidsLimit: -1 }, '--memory 4 --memory-swap -1 new'],
    [
      { IpcMode: 'host', UTSMode: 'host', CgroupParent: 'kv.slice' },
      '--ipc host --uts host --cgroup-parent kv.slice new',
    ],
    [{ MaskedPaths: [], ReadonlyPaths: [] }, '--security-opt systempaths=unconfined new'],
    [{ MaskedPaths: ['/proc/kcore'] }, 'new'],
    [
      { Mounts: [{ Type: 'tmpfs', Target: '/t', TmpfsOptions: { SizeBytes: 9, Mode: 448 } }] },
      '--mount type=tmpfs,target=/t,tmpfs-size=9,tmpfs-mode=700 new',
    ],
  ])('%j', (config, expected) => expect(host(config)).toBe(expected));
  it('its volumes without a name, which contain its data', () => {
    const Mounts = [
      { Type: 'volume', Name: 'f00', Destination: '/data', RW: true },
      { Type: 'volume', Name: 'own', Destination: '/named', RW: true },
      { Type: 'bind', Source: '/a', Destination: '/b' },
    ];
    expect(words({ Mounts, HostConfig: { Binds: ['own:/named'] } })).toBe(
      '-v own:/named --mount type=volume,source=f00,target=/data new',
    );
  });
  it('its health check, its terminal and the time of its stop', () => {
    const Healthcheck = { Test: ['CMD-SHELL', 'ok'], Interval: 5, Retries: 2 };
    expect(words({ Config: { Healthcheck, Tty: true, StopTimeout: 9 } })).toBe(
      '--tty --stop-timeout 9 --health-cmd ok --health-interval 5ns --health-retries 2 new',
    );
    expect(words({ Config: { Healthcheck } }, { Config: { Healthcheck } })).toBe('new');
    expect(words({ Config: { Entrypoint: null, Cmd: ['etcd'] } }, { Config: { Entrypoint: ['sh'] } })).toBe(
      '--entrypoint  new etcd',
    );
  });
  it('arguments contain the previous restart policy, unless there was none', () => {
    expect([words({}, {}, 'no'), words({}, {}, ''), words({}, {}, 'always')]).toEqual([
      'new',
      'new',
      '--restart always new',
    ]);
  });
  it('arguments contain its own name, not a generated one', () => {
    expect(words({ Config: { Hostname: 'kv1' } })).toBe('--hostname kv1 new');
    expect(words({ Config: { Hostname: '0123456789ab' } })).toBe('new');
  });
  it('arguments contain its entrypoint and command if they differ from the image', () => {
    const own = (Entrypoint: unknown, Cmd: unknown) =>
      words({ Config: { Entrypoint, Cmd } }, { Config: { Entrypoint: ['etcd'], Cmd: ['-a'] } });
    expect(own(['etcd'], ['-a'])).toBe('new');
    expect(own(['etcd'], ['-b'])).toBe('new -b');
    expect(own(['etcd'], ['-a', '-b'])).toBe('new -a -b');
    expect(own(['sh', '-c'], ['-a'])).toBe('--entrypoint sh new -c -a');
    expect(own(['kvd'], ['-a'])).toBe('--entrypoint kvd new -a');
  });
  it('arguments contain the entrypoint and the stop signal as podman prints them', () => {
    const image = { Config: { Entrypoint: ['etcd'], StopSignal: 'SIGINT' } };
    const own = (Path: string, Args: string[], StopSignal: number) =>
      words(
        {
          Path,
          Args,
          Config: { Entrypoint: [Path, ...Args.slice(0, -1)].join(' '), Cmd: ['-a'], StopSignal },
        },
        image,
      );
    expect(own('etcd', ['-a'], 2)).toBe('new -a');
    expect(own('sh', ['-c', 'a b', '-a'], 2)).toBe('--entrypoint sh new -c a b -a');
    expect(own('etcd', ['-a'], 15)).toBe('--stop-signal 15 new -a');
    expect(
      words(
        {
          ...{ Path: '/run/podman-init', Args: ['--', 'etcd', '-a'], HostConfig: { Init: true } },
          Config: { Entrypoint: 'etcd', Cmd: ['-a'], StopSignal: 2 },
        },
        image,
      ),
    ).toBe('--init new -a');
    expect(words({ Config: { Entrypoint: '', Cmd: ['etcd'], StopSignal: 15 } })).toBe('new etcd');
  });
  it('arguments contain its user, directory, stop signal and labels if they differ from the image', () => {
    const own = { User: 'u', WorkingDir: '/w', StopSignal: 'SIGINT', Labels: { a: '1' } };
    expect(words({ Config: own }, { Config: own })).toBe('new');
    expect(words({ Config: own })).toBe('--user u --workdir /w --stop-signal SIGINT --label a=1 new');
    expect(words({ Config: own }, { Config: { ...own, Labels: { a: '2' } } })).toBe('--label a=1 new');
  });
  it('arguments contain its address and its names in its network', () => {
    const Networks = { kv: { Aliases: ['n1', '0123456789ab'], IPAMConfig: null } };
    expect(words({ HostConfig: { NetworkMode: 'kv' }, NetworkSettings: { Networks } })).toBe(
      '--network kv --network-alias n1 new',
    );
    expect(words({ HostConfig: { NetworkMode: 'kv' }, NetworkSettings: { Networks: null } })).toBe(
      '--network kv new',
    );
  });
});

describe('settings that a new container would not get', () => {
  const lost = (container: object, tool: 'docker' | 'podman' = 'docker') =>
    lostSettings(container as never, {}, tool).map(
      (text) => /(?:setting|option|variable) ([\w.-]+)/.exec(text)?.[1],
    );
  it.each<[object, readonly string[]]>([
    [{}, []],
    [{ HostConfig: { AutoRemove: true } }, ['HostConfig.AutoRemove']],
    [{ HostConfig: { DeviceRequests: [{ Count: -1 }] } }, ['HostConfig.DeviceRequests']],
    [
      { HostConfig: { SettingOfTomorrow: { a: 1 }, Links: null, AutoRemove: false } },
      ['HostConfig.SettingOfTomorrow'],
    ],
    [
      {
        HostConfig: {
          Mounts: [{ Type: 'bind', BindOptions: { NonRecursive: true, Propagation: 'rslave' } }],
        },
      },
      ['HostConfig.Mounts.BindOptions.NonRecursive'],
    ],
    [
      { HostConfig: { NetworkMode: 'a' }, NetworkSettings: { Networks: { a: {}, b: {} } } },
      ['NetworkSettings.Networks.b'],
    ],
    [{ NetworkSettings: { Networks: { bridge: { IPAMConfig: null } } } }, []],
    [{ Config: { Healthcheck: { Test: ['CMD', 'a'] } } }, ['Config.Healthcheck.Test']],
    [{ Config: { Env: ['A=1\n2', 'DOCKER_HOST=1\n2', 'x.y=1\n2'] } }, ['DOCKER_HOST', 'x.y']],
    [{ Config: { Env: ['#A=1'] } }, ['Config.Env']],
    [{ Config: { Env: ['A B=1'] } }, ['Config.Env']],
    [{ Config: { Env: ['A=# 1 2'], Labels: { a: 'b=c,d' } } }, []],
    [{ Config: { Labels: { 'a=b': 'c' } } }, ['Config.Labels']],
    [{ HostConfig: { Sysctls: { 'a=b': 'c' } } }, ['HostConfig.Sysctls']],
    [{ HostConfig: { LogConfig: { Type: 'x', Config: { 'a=b': 'c' } } } }, ['HostConfig.LogConfig']],
    [{ HostConfig: { Tmpfs: { '/a:rw,exec': '' } } }, ['HostConfig.Tmpfs']],
    [{ HostConfig: { Devices: [{ PathOnHost: '/dev/a:/dev/sda' }] } }, ['HostConfig.Devices']],
    [{ HostConfig: { Mounts: [{ Type: 'bind', Source: '/a\r\nb' }] } }, ['HostConfig.Mounts']],
    [{ HostConfig: { Mounts: [{ Type: 'bind', Source: '/a,b"\nc' }] } }, []],
    [
      { HostConfig: { LogConfig: { Type: 'splunk', Config: { 'splunk-token': 's3cret', tag: 'n1' } } } },
      ['splunk-token'],
    ],
  ])('%j', (container, names) => {
    expect(lost(container)).toEqual(names);
    expect(lostSettings(container as never, {}, 'docker').join()).not.toContain('s3cret');
  });
  it('of podman are only those that it reports as settings', () => {
    expect(lost({ HostConfig: { AutoRemove: true, CgroupManager: 'systemd' } }, 'podman')).toEqual([
      'HostConfig.AutoRemove',
    ]);
  });
  it.each<[object, string]>([
    [{ Sysctls: { a: '1,kernel.x=2' } }, '--sysctl'],
    [{ ExtraHosts: ['a:1.2.3.4,registry:6.6.6.6'] }, '--add-host'],
    [{ CapAdd: ['CHOWN,SYS_ADMIN'] }, '--cap-add'],
    [{ GroupAdd: ['1,0'] }, '--group-add'],
    [{ LogConfig: { Type: 'k8s-file', Config: { tag: 'a,path=/etc/x' } } }, '--log-opt'],
    [{ Devices: [{ PathOnHost: '/dev/a,/dev/sda' }] }, '--device'],
    [{ DnsSearch: ['a"b'] }, '--dns-search'],
  ])('of podman are %j, which it would split at the comma, and docker would not', (HostConfig, flag) => {
    expect(lost({ HostConfig }, 'podman')).toEqual([flag]);
    expect(lost({ HostConfig })).toEqual([]);
  });
  it('fail the check, unless a command of the operator makes the container', async () => {
    const answers = () => {
      const all = [[{ HostConfig: { AutoRemove: true } }], [{}]];
      return async () => JSON.stringify(all.shift());
    };
    const { problems } = containerService('docker')(cluster);
    const image = { ...member, new_image: 'kv:2' };
    expect(await problems?.(image, answers())).toHaveLength(1);
    expect(await problems?.({ ...image, new_command: ['run'] }, answers())).toEqual([]);
    expect(await problems?.(image, async () => '')).toEqual([]);
  });
  it('are not variables of several lines, which the tool reads from its environment', async () => {
    const kept = placement({ container: 'c1-3.4-r', container_id: 'id1', image: 'i1' }, { image: 'i2' });
    const answers = [[{ Config: { Env: ['A=1', 'KEY=-----\nabc\n-----'] } }], [{}]];
    const script = containerService('docker')(cluster).start(member, 'new', kept);
    const made = String(
      await (script as (ask: () => Promise<string>) => Promise<unknown>)(async () =>
        JSON.stringify(answers.shift()),
      ),
    );
    expect(made).toContain("export 'KEY=-----\nabc\n-----'");
    expect(made).toContain(`--name 'c1' --env-file "$F" -e KEY i2`);
  });
});
