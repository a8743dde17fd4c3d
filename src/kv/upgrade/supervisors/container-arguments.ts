/** What `docker inspect` says of a container, as far as the arguments of an equal one need it. */
type Settings = Readonly<Record<string, unknown>>;
export type Inspected = {
  readonly Config?: Settings;
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

/** What the old image says is left out: the new image's own words count, not those of the image before (spec/store#measured-service-managers). */
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
const mountWords = (mounts: unknown): string[] =>
  (Array.isArray(mounts) ? mounts : [])
    .map(record)
    .flatMap(({ Type, Source, Target, ReadOnly }) => [
      '--mount',
      [
        `type=${text(Type) ?? 'bind'}`,
        ...(text(Source) === undefined ? [] : [`source=${text(Source)}`]),
        `target=${text(Target) ?? ''}`,
        ...(ReadOnly === true ? ['readonly'] : []),
      ].join(','),
    ]);
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

const hostWords = (inspected: Inspected, restart: string | undefined): string[] => {
  const own = inspected.HostConfig ?? {};
  const log = record(own['LogConfig']);
  const memory = Number(own['Memory'] ?? 0);
  return [
    ...(text(restart) === undefined || restart === 'no' ? [] : ['--restart', restart as string]),
    ...network(inspected),
    ...each('-v', list(own['Binds'])),
    ...mountWords(own['Mounts']),
    ...portWords(own['PortBindings']),
    ...each('--cap-add', list(own['CapAdd'])),
    ...each('--cap-drop', list(own['CapDrop'])),
    ...each('--security-opt', list(own['SecurityOpt'])),
    ...each('--add-host', list(own['ExtraHosts'])),
    ...each('--dns', list(own['Dns'])),
    ...each('--group-add', list(own['GroupAdd'])),
    ...limitWords(own['Ulimits']),
    ...Object.entries(record(own['Tmpfs'])).flatMap(([path, how]) => [
      '--tmpfs',
      text(how) === undefined ? path : `${path}:${String(how)}`,
    ]),
    ...(memory > 0 ? ['--memory', String(memory)] : []),
    ...(own['ReadonlyRootfs'] === true ? ['--read-only'] : []),
    ...(own['Privileged'] === true ? ['--privileged'] : []),
    ...(text(own['PidMode']) === undefined ? [] : ['--pid', String(own['PidMode'])]),
    ...(text(log['Type']) === undefined ? [] : ['--log-driver', String(log['Type'])]),
    ...Object.entries(record(log['Config'])).flatMap(([key, value]) => [
      '--log-opt',
      `${key}=${String(value)}`,
    ]),
  ];
};

/**
 * The words after `run -d --name NAME` that make a container like this one on another image. The environment is returned apart:
 * it may hold secrets, and words of a command line are in a process list. `restart`: its policy before that was switched off. Pure.
 */
export const argumentsLike = (
  container: Inspected,
  oldImage: Inspected,
  newImage: string,
  restart: string | undefined,
): { readonly words: readonly string[]; readonly env: readonly string[] } => {
  const [own, image] = [container.Config ?? {}, oldImage.Config ?? {}];
  const [entrypoint, imageEntrypoint] = [list(own['Entrypoint']), list(image['Entrypoint'])];
  const command = list(own['Cmd']);
  const [first, ...more] = isSame(entrypoint, imageEntrypoint) ? [] : entrypoint;
  const changed = (key: string): string | undefined =>
    text(own[key]) === text(image[key]) ? undefined : text(own[key]);
  const labels = Object.entries(record(own['Labels'])).filter(
    ([key, value]) => record(image['Labels'])[key] !== value,
  );
  const hostname = text(own['Hostname']);
  return {
    words: [
      ...hostWords(container, restart),
      ...(hostname === undefined || /^[0-9a-f]{12}$/.test(hostname) ? [] : ['--hostname', hostname]),
      ...(changed('User') === undefined ? [] : ['--user', changed('User') as string]),
      ...(changed('WorkingDir') === undefined ? [] : ['--workdir', changed('WorkingDir') as string]),
      ...(changed('StopSignal') === undefined ? [] : ['--stop-signal', changed('StopSignal') as string]),
      ...labels.flatMap(([key, value]) => ['--label', `${key}=${String(value)}`]),
      ...(first === undefined ? [] : ['--entrypoint', first]),
      newImage,
      ...more,
      ...(first === undefined && isSame(command, list(image['Cmd'])) ? [] : command),
    ],
    env: beyond(list(own['Env']), list(image['Env'])),
  };
};
