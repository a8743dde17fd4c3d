import { isPortable } from './process-record.ts';

/**
 * Converts a container to the arguments of an equal container, and lists the settings that no argument
 * supports.
 */
/** The part of the output of `docker inspect` that the arguments of an equal container need. */
type Settings = Readonly<Record<string, unknown>>;
export type Inspected = {
  readonly Config?: Settings;
  readonly Path?: unknown;
  readonly Args?: unknown;
  readonly Mounts?: readonly Settings[];
  readonly HostConfig?: Settings;
  readonly NetworkSettings?: { readonly Networks?: Readonly<Record<string, Settings | null>> | null };
};
const list = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
const record = (value: unknown): Settings =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Settings) : {};
const each = (flag: string, values: readonly string[]): string[] => values.flatMap((value) => [flag, value]);
/**
 * Leaves out the values of the old image: the new image uses its own values instead
 * (spec/store#measured-service-managers).
 */
const beyond = (own: readonly string[], image: readonly string[]): string[] =>
  own.filter((one) => !image.includes(one));
const isSame = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((one, i) => one === b[i]);
const portWords = (bindings: unknown): string[] =>
  Object.entries(record(bindings)).flatMap(([port, hosts]) =>
    (Array.isArray(hosts) ? hosts : []).flatMap((one) => {
      const { HostIp, HostPort } = record(one);
      return ['-p', `${text(HostIp) === undefined ? '' : `${text(HostIp)}:`}${text(HostPort) ?? ''}:${port}`];
    }),
  );
const setPart = (name: string, value: string | undefined): string[] =>
  value === undefined ? [] : [`${name}=${value}`];
const positive = (value: unknown): number | undefined => (Number(value ?? 0) > 0 ? Number(value) : undefined);
const mountOptionParts = (mount: Settings): string[] => {
  const [bind, volume, memory] = ['BindOptions', 'VolumeOptions', 'TmpfsOptions'].map((key) =>
    record(mount[key]),
  ) as [Settings, Settings, Settings];
  return [
    ...setPart('bind-propagation', text(bind['Propagation'])),
    ...(volume['NoCopy'] === true ? ['volume-nocopy'] : []),
    ...setPart('tmpfs-size', positive(memory['SizeBytes'])?.toString()),
    ...setPart('tmpfs-mode', positive(memory['Mode'])?.toString(8)),
  ];
};
/**
 * Returns the words of one mount. docker and podman read the value as a row of CSV: without quotes, a comma in a path
 * starts another option, for example a source outside of the directory.
 */
const mountWord = (parts: readonly string[]): string[] => [
  '--mount',
  parts.map((part) => (/[",\n\r]/.test(part) ? `"${part.replaceAll('"', '""')}"` : part)).join(','),
];
const mountWords = (mounts: unknown): string[] =>
  (Array.isArray(mounts) ? mounts : [])
    .map(record)
    .flatMap((mount) =>
      mountWord([
        `type=${text(mount['Type']) ?? 'bind'}`,
        ...setPart('source', text(mount['Source'])),
        `target=${text(mount['Target']) ?? ''}`,
        ...(mount['ReadOnly'] === true ? ['readonly'] : []),
        ...mountOptionParts(mount),
      ]),
    );
/** Volumes without a name from the operator: a new container would get new, empty volumes. */
const volumeWords = ({ Mounts, HostConfig = {} }: Inspected): string[] => {
  const named = new Set([
    ...list(HostConfig['Binds']).map((bind) => bind.split(':')[1] ?? ''),
    ...(Array.isArray(HostConfig['Mounts']) ? HostConfig['Mounts'] : []).map((one) =>
      text(record(one)['Target']),
    ),
  ]);
  return (Mounts ?? [])
    .filter(
      ({ Type, Name, Destination }) =>
        Type === 'volume' && text(Name) !== undefined && !named.has(text(Destination)),
    )
    .flatMap(({ Name, Destination, RW }) =>
      mountWord([
        'type=volume',
        `source=${String(Name)}`,
        `target=${String(Destination)}`,
        ...(RW === false ? ['readonly'] : []),
      ]),
    );
};
const deviceWords = (devices: unknown): string[] =>
  (Array.isArray(devices) ? devices : [])
    .map(record)
    .flatMap(({ PathOnHost, PathInContainer, CgroupPermissions }) => [
      '--device',
      [PathOnHost, PathInContainer, CgroupPermissions].filter((part) => text(part) !== undefined).join(':'),
    ]);
/** Settings with one flag and one value: positive numbers and non-empty strings. */
const plainFlags = {
  Memory: '--memory',
  MemoryReservation: '--memory-reservation',
  CpuShares: '--cpu-shares',
  CpuPeriod: '--cpu-period',
  CpuQuota: '--cpu-quota',
  CpuRealtimePeriod: '--cpu-rt-period',
  CpuRealtimeRuntime: '--cpu-rt-runtime',
  CpusetCpus: '--cpuset-cpus',
  CpusetMems: '--cpuset-mems',
  BlkioWeight: '--blkio-weight',
  PidsLimit: '--pids-limit',
  ShmSize: '--shm-size',
  PidMode: '--pid',
  IpcMode: '--ipc',
  UTSMode: '--uts',
  UsernsMode: '--userns',
  CgroupnsMode: '--cgroupns',
  CgroupParent: '--cgroup-parent',
  Runtime: '--runtime',
  VolumeDriver: '--volume-driver',
} as const;
const plainWords = (own: Settings, isPodman: boolean): string[] =>
  Object.entries(plainFlags).flatMap(([key, flag]) => {
    // A tool without a daemon reports its defaults here, in a form that is not a valid argument.
    if (
      isPodman &&
      ['IpcMode', 'UTSMode', 'CgroupnsMode', 'Runtime', 'CgroupParent', 'PidMode'].includes(key)
    )
      return key === 'PidMode' && own[key] === 'host' ? [flag, 'host'] : [];
    const value = own[key];
    const isSet = typeof value === 'number' ? value > 0 : text(value) !== undefined;
    return isSet ? [flag, String(value)] : [];
  });
/** Maps with one flag per entry. */
const mapFlags = { Sysctls: '--sysctl', StorageOpt: '--storage-opt', Annotations: '--annotation' } as const;
const listFlags = {
  CapAdd: '--cap-add',
  CapDrop: '--cap-drop',
  SecurityOpt: '--security-opt',
  ExtraHosts: '--add-host',
  Dns: '--dns',
  DnsOptions: '--dns-option',
  DnsSearch: '--dns-search',
  GroupAdd: '--group-add',
  DeviceCgroupRules: '--device-cgroup-rule',
  VolumesFrom: '--volumes-from',
} as const;
/** Without this flag, a tool uses twice the memory. */
const swapWords = ({ Memory, MemorySwap, MemorySwappiness }: Settings, isPodman: boolean): string[] => [
  ...(typeof MemorySwap === 'number' && MemorySwap !== 0 && MemorySwap !== 2 * Number(Memory ?? 0)
    ? ['--memory-swap', String(MemorySwap)]
    : []),
  // A tool without a daemon reports 0 for the default.
  ...(typeof MemorySwappiness === 'number' && MemorySwappiness >= (isPodman ? 1 : 0)
    ? ['--memory-swappiness', String(MemorySwappiness)]
    : []),
];
/**
 * The tool generates the names of the paths that a container hides; an empty list is a choice of the user.
 */
const showsSystem = (own: Settings): boolean =>
  own['Privileged'] !== true && Array.isArray(own['MaskedPaths']) && own['MaskedPaths'].length === 0;
const switchWords = (own: Settings): string[] => [
  ...(own['ReadonlyRootfs'] === true ? ['--read-only'] : []),
  ...(own['Privileged'] === true ? ['--privileged'] : []),
  ...(own['Init'] === true ? ['--init'] : []),
  ...(own['OomKillDisable'] === true ? ['--oom-kill-disable'] : []),
  ...(own['PublishAllPorts'] === true ? ['--publish-all'] : []),
  ...(Number(own['OomScoreAdj'] ?? 0) === 0 ? [] : ['--oom-score-adj', String(own['OomScoreAdj'])]),
  ...(Number(own['NanoCpus'] ?? 0) > 0 ? ['--cpus', String(Number(own['NanoCpus']) / 1e9)] : []),
  ...(showsSystem(own) ? ['--security-opt', 'systempaths=unconfined'] : []),
];
const limitWords = (limits: unknown): string[] =>
  (Array.isArray(limits) ? limits : [])
    .map(record)
    .flatMap(({ Name, Soft, Hard }) => ['--ulimit', `${String(Name)}=${String(Soft)}:${String(Hard)}`]);
const network = ({ HostConfig = {}, NetworkSettings }: Inspected): string[] => {
  const mode = text(HostConfig['NetworkMode']);
  if (mode === undefined || mode === 'default' || mode === 'bridge') return [];
  const own = record(NetworkSettings?.Networks?.[mode]);
  const fixed = text(record(own['IPAMConfig'])['IPv4Address']);
  // The runtime adds the container's own id as an alias.
  const aliases = list(own['Aliases']).filter((alias) => !/^[0-9a-f]{12}$/.test(alias));
  return [
    '--network',
    mode,
    ...(fixed === undefined ? [] : ['--ip', fixed]),
    ...each('--network-alias', aliases),
  ];
};
const hostWords = (inspected: Inspected, restart: string | undefined, isPodman: boolean): string[] => {
  const own = inspected.HostConfig ?? {};
  const log = record(own['LogConfig']);
  return [
    ...(text(restart) === undefined || restart === 'no' ? [] : ['--restart', restart as string]),
    ...network(inspected),
    ...each('-v', list(own['Binds'])),
    ...mountWords(own['Mounts']),
    ...volumeWords(inspected),
    ...portWords(own['PortBindings']),
    ...Object.entries(listFlags).flatMap(([key, flag]) => each(flag, list(own[key]))),
    ...deviceWords(own['Devices']),
    ...limitWords(own['Ulimits']),
    ...Object.entries(mapFlags).flatMap(([key, flag]) =>
      Object.entries(record(isPodman && key === 'Annotations' ? {} : own[key])).flatMap(([name, value]) => [
        flag,
        `${name}=${String(value)}`,
      ]),
    ),
    ...Object.entries(record(own['Tmpfs'])).flatMap(([path, how]) => [
      '--tmpfs',
      text(how) === undefined ? path : `${path}:${String(how)}`,
    ]),
    ...plainWords(own, isPodman),
    ...swapWords(own, isPodman),
    ...switchWords(own),
    ...(text(log['Type']) === undefined ? [] : ['--log-driver', String(log['Type'])]),
    ...Object.entries(record(log['Config'])).flatMap(([key, value]) => [
      '--log-opt',
      `${key}=${String(value)}`,
    ]),
  ];
};
/** The health check of the container; a flag exists only for a check that a shell runs. */
const healthWords = (own: Settings, image: Settings): string[] => {
  const [health, before] = [record(own['Healthcheck']), record(image['Healthcheck'])];
  if (JSON.stringify(health) === JSON.stringify(before)) return [];
  const [kind, command] = list(health['Test']);
  const times = {
    Interval: 'interval',
    Timeout: 'timeout',
    StartPeriod: 'start-period',
    StartInterval: 'start-interval',
  };
  return [
    ...(kind === 'NONE' ? ['--no-healthcheck'] : []),
    ...(kind === 'CMD-SHELL' ? ['--health-cmd', command ?? ''] : []),
    ...Object.entries(times).flatMap(([key, flag]) =>
      Number(health[key] ?? 0) > 0 ? [`--health-${flag}`, `${Number(health[key])}ns`] : [],
    ),
    ...(Number(health['Retries'] ?? 0) > 0 ? ['--health-retries', String(health['Retries'])] : []),
  ];
};
/** The init program that podman writes before the command of a container with --init. */
const initPaths: ReadonlySet<unknown> = new Set(['/run/podman-init', '/dev/init']);
const withoutInit = (words: readonly string[]): readonly string[] =>
  initPaths.has(words[0]) ? words.slice(words[1] === '--' ? 2 : 1) : words;
/**
 * podman 4 prints the entrypoint of a container as one string. Path and Args are the whole command: the init
 * program of --init, the entrypoint, then Cmd.
 */
const entrypointOf = ({ Config = {}, Path, Args }: Inspected): string[] => {
  const given = Config['Entrypoint'];
  if (typeof given !== 'string') return list(given);
  if (given === '') return [];
  const whole = typeof Path === 'string' ? withoutInit([Path, ...list(Args)]) : [given];
  return whole.slice(0, Math.max(1, whole.length - list(Config['Cmd']).length));
};
const changedFlags = { User: '--user', WorkingDir: '--workdir', StopSignal: '--stop-signal' } as const;
/** Signals that an image may name (Linux). A number that is not listed here is set again. */
const signalNumbers: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGUSR2: 12,
  SIGTERM: 15,
};
/** podman prints the number of the stop signal of a container, and the name in its image. */
const signalWords = (own: Settings, image: Settings): string[] => {
  const number = own['StopSignal'];
  if (typeof number !== 'number') return [];
  const before = signalNumbers[text(image['StopSignal']) ?? 'SIGTERM'];
  return number === before ? [] : [changedFlags.StopSignal, String(number)];
};
const processWords = (own: Settings, image: Settings): string[] => [
  ...signalWords(own, image),
  ...Object.entries(changedFlags).flatMap(([key, flag]) => {
    const value = text(own[key]);
    return value === undefined || value === text(image[key]) ? [] : [flag, value];
  }),
  ...(own['Tty'] === true ? ['--tty'] : []),
  ...(own['OpenStdin'] === true ? ['--interactive'] : []),
  ...(text(own['Domainname']) === undefined ? [] : ['--domainname', String(own['Domainname'])]),
  ...(text(own['MacAddress']) === undefined ? [] : ['--mac-address', String(own['MacAddress'])]),
  ...(typeof own['StopTimeout'] === 'number' ? ['--stop-timeout', String(own['StopTimeout'])] : []),
  ...healthWords(own, image),
];
/** The labels of the container that its image does not have. */
const ownLabels = (own: Settings, image: Settings): Settings =>
  Object.fromEntries(
    Object.entries(record(own['Labels'])).filter(([key, value]) => record(image['Labels'])[key] !== value),
  );
/**
 * Returns the arguments after `run -d --name NAME` for a container like this container on another image. The
 * environment is returned separately: it may contain secrets, and a process list shows the arguments of a
 * command. `restart`: its policy before it was switched off. Pure.
 */
export const argumentsLike = (
  container: Inspected,
  oldImage: Inspected,
  newImage: string,
  restart: string | undefined,
  isPodman = false,
): { readonly words: readonly string[]; readonly env: readonly string[] } => {
  const [own, image] = [container.Config ?? {}, oldImage.Config ?? {}];
  const [entrypoint, imageEntrypoint] = [entrypointOf(container), list(image['Entrypoint'])];
  const command = list(own['Cmd']);
  const isSameStart = isSame(entrypoint, imageEntrypoint);
  const [first, ...more] = isSameStart ? [] : entrypoint;
  const labels = Object.entries(ownLabels(own, image));
  const hostname = text(own['Hostname']);
  return {
    words: [
      ...hostWords(container, restart, isPodman),
      ...(hostname === undefined || /^[0-9a-f]{12}$/.test(hostname) ? [] : ['--hostname', hostname]),
      ...processWords(own, image),
      ...labels.flatMap(([key, value]) => ['--label', `${key}=${String(value)}`]),
      ...(isSameStart ? [] : ['--entrypoint', first ?? '']),
      newImage,
      ...more,
      ...(isSameStart && isSame(command, list(image['Cmd'])) ? [] : command),
    ],
    env: beyond(list(own['Env']), list(image['Env'])),
  };
};

/** Settings that a report adds, that have a value in every container, or that exist only on other systems. */
const ignored = new Set([
  ...[
    'ContainerIDFile',
    'ConsoleSize',
    'Cgroup',
    'Isolation',
    'MaskedPaths',
    'ReadonlyPaths',
    'RestartPolicy',
  ],
  ...[
    'NetworkMode',
    'PortBindings',
    'LogConfig',
    'Binds',
    'Mounts',
    'Devices',
    'Ulimits',
    'Tmpfs',
    'Privileged',
  ],
  ...['ReadonlyRootfs', 'Init', 'OomKillDisable', 'PublishAllPorts', 'OomScoreAdj', 'NanoCpus', 'MemorySwap'],
  ...['MemorySwappiness', 'KernelMemory', 'KernelMemoryTCP'],
  ...[plainFlags, mapFlags, listFlags].flatMap((flags) => Object.keys(flags)),
]);
const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === false ||
  value === 0 ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === 'object' && !Array.isArray(value) && Object.keys(record(value)).length === 0);
/**
 * Settings that remove the container at its stop, or that refer to other containers and programs. podman
 * reports more keys than it has settings.
 */
const refusedByPodman = [
  'AutoRemove',
  'Links',
  'BlkioWeightDevice',
  'BlkioDeviceReadBps',
  'BlkioDeviceWriteBps',
];
const mountOptions = ['BindOptions', 'VolumeOptions', 'TmpfsOptions', 'ImageOptions', 'ClusterOptions'];
const carriedOptions = ['Propagation', 'NoCopy', 'SizeBytes', 'Mode'];
const lostMounts = (mounts: unknown): string[] =>
  (Array.isArray(mounts) ? mounts : []).map(record).flatMap((mount) =>
    mountOptions.flatMap((key) =>
      Object.entries(record(mount[key]))
        .filter(([name, value]) => !carriedOptions.includes(name) && !isEmpty(value))
        .map(([name]) => `HostConfig.Mounts.${key}.${name}`),
    ),
  );
const lostNetworks = ({ HostConfig = {}, NetworkSettings }: Inspected): string[] => {
  const mode = text(HostConfig['NetworkMode']) ?? 'default';
  const main = mode === 'default' ? 'bridge' : mode;
  const all = Object.entries(NetworkSettings?.Networks ?? {});
  const others = all.map(([name]) => name).filter((name) => name !== main && all.length > 1);
  const own = record(NetworkSettings?.Networks?.[main]);
  return [
    ...others.map((name) => `NetworkSettings.Networks.${name}`),
    ...['Links', 'DriverOpts']
      .filter((key) => !isEmpty(own[key]))
      .map((key) => `NetworkSettings.Networks.${main}.${key}`),
    ...(isEmpty(record(own['IPAMConfig'])['LinkLocalIPs'])
      ? []
      : [`NetworkSettings.Networks.${main}.IPAMConfig.LinkLocalIPs`]),
  ];
};
/** Flags whose value podman splits at commas and quotes, while docker keeps it. */
const podmanLists: ReadonlySet<string | undefined> = new Set([
  ...['--cap-add', '--cap-drop', '--add-host', '--dns', '--dns-option', '--dns-search', '--group-add'],
  ...['--device', '--device-cgroup-rule', '--network-alias', '--sysctl', '--storage-opt', '--annotation'],
  ...['--ulimit', '--log-opt', '-p'],
]);
/** Settings with a character that their flag reads as the end of the value: the rest would become another setting. */
const splitSettings = (container: Inspected, image: Settings, tool: 'docker' | 'podman'): string[] => {
  const [own, config] = [container.HostConfig ?? {}, container.Config ?? {}];
  const has = (value: unknown, mark: RegExp): boolean => mark.test(text(value) ?? '');
  const hasName = (settings: unknown, mark: RegExp): boolean =>
    Object.keys(record(settings)).some((name) => mark.test(name));
  const paths = (Array.isArray(own['Devices']) ? own['Devices'] : []).map(record);
  const mounts = [...(Array.isArray(own['Mounts']) ? own['Mounts'] : []), ...(container.Mounts ?? [])];
  const found: readonly (readonly [name: string, isSplit: boolean])[] = [
    // The file of variables has comments, and no name with a space.
    [
      'Config.Env',
      beyond(list(config['Env']), list(image['Env'])).some((line) => /^(#|=|[^=]*\s)/.test(line)),
    ],
    ['Config.Labels', hasName(ownLabels(config, image), /=/)],
    // Podman reports the annotations that it sets itself, so opsctl does not copy them.
    ...Object.keys(mapFlags)
      .filter((key) => tool === 'docker' || key !== 'Annotations')
      .map((key) => [`HostConfig.${key}`, hasName(own[key], /=/)] as const),
    ['HostConfig.LogConfig', hasName(record(own['LogConfig'])['Config'], /=/)],
    ['HostConfig.Tmpfs', hasName(own['Tmpfs'], /:/)],
    [
      'HostConfig.Devices',
      paths.some((one) => has(one['PathOnHost'], /:/) || has(one['PathInContainer'], /:/)),
    ],
    // A reader of CSV drops a carriage return before the end of a line.
    [
      'HostConfig.Mounts',
      mounts.map(record).some((one) => Object.values(one).some((part) => has(part, /\r/))),
    ],
  ];
  const words = tool === 'podman' ? hostWords(container, undefined, true) : [];
  const lists = words.filter((flag, at) => podmanLists.has(flag) && has(words[at + 1], /[",\n\r]/));
  return [...found.filter(([, isSplit]) => isSplit).map(([name]) => name), ...new Set(lists)];
};
const secretOption = /token|secret|passw|credential|api-?key|access-?key|(^|-)key$/i;
const lostLogOptions = (own: Settings): string[] =>
  Object.keys(record(record(own['LogConfig'])['Config'])).filter((key) => secretOption.test(key));
const lostEnvironment = (own: Settings, image: Settings): string[] =>
  beyond(list(own['Env']), list(image['Env']))
    .filter((line) => /[\n\r]/.test(line))
    .map((line) => line.slice(0, line.indexOf('=')))
    // The tool reads these variables itself.
    .filter((name) => !isPortable(name) || /^(PATH|HOME|LD_|DOCKER_|CONTAINER_|XDG_)/.test(name));
const lostHealth = (own: Settings, image: Settings): boolean =>
  JSON.stringify(record(own['Healthcheck'])) !== JSON.stringify(record(image['Healthcheck'])) &&
  list(record(own['Healthcheck'])['Test'])[0] === 'CMD';
/** Settings that a new container would lose, each with the fix. */
export const lostSettings = (container: Inspected, image: Inspected, tool: 'docker' | 'podman'): string[] => {
  const [own, config] = [container.HostConfig ?? {}, container.Config ?? {}];
  const isLost = (key: string): boolean =>
    tool === 'docker' ? !ignored.has(key) : refusedByPodman.includes(key);
  const lost = [
    ...Object.keys(own)
      .filter((key) => isLost(key) && !isEmpty(own[key]))
      .map((key) => `HostConfig.${key}`),
    ...lostMounts(own['Mounts']),
    ...splitSettings(container, image.Config ?? {}, tool),
    ...(tool === 'docker' ? lostNetworks(container) : []),
    ...(config['NetworkDisabled'] === true ? ['Config.NetworkDisabled'] : []),
    ...(lostHealth(config, image.Config ?? {}) ? ['Config.Healthcheck.Test'] : []),
  ];
  const hint = `write new_command (a ${tool} run command with {container} and {image})`;
  return [
    ...lost.map(
      (key) => `its container has the setting ${key}, which opsctl cannot set for a new container; ${hint}`,
    ),
    ...lostLogOptions(own).map(
      (key) =>
        `its container has the log option ${key}, which looks like a secret and would be visible in the process list; move it to the configuration of the daemon, or ${hint}`,
    ),
    ...lostEnvironment(config, image.Config ?? {}).map(
      (name) =>
        `its container has the variable ${name}, whose value has several lines, which ${tool} run does not accept; ${hint}`,
    ),
  ];
};
