import { durationMs } from '../../core/format.ts';
import { AppError } from '../../core/problem.ts';
import { shellLine } from '../../core/shell.ts';

export const schedulers = ['systemd', 'cron', 'kubernetes', 'launchd'] as const;
export type Scheduler = (typeof schedulers)[number];
export type Job = {
  /** Name of the cluster. It is part of unit and object names. */
  readonly cluster: string;
  /** Arguments of one run, without the program. */
  readonly words: readonly string[];
  readonly calendar: Calendar;
  /** The command that starts opsctl on this machine, for systemd, cron and launchd. */
  readonly program: readonly string[];
  readonly image?: string | undefined;
  /** The directory of the snapshots; missing for a bucket. */
  readonly directory?: string | undefined;
  /** The cluster file on this machine. */
  readonly clusterPath?: string;
  /** Files that the command reads next to the cluster file, by the name that they have in a container. */
  readonly secretFiles?: readonly { readonly name: string; readonly path: string }[];
  /** Files that the cluster file names, and where a container must find them. */
  readonly clusterFiles?: readonly {
    readonly name: string;
    readonly path: string;
    readonly mountPath: string;
  }[];
};
/** One file for the scheduler: its place on a machine and its text. */
export type SchedulerFile = { readonly name: string; readonly text: string };
/**
 * Refuses control characters and line breaks. A line break would start another setting, job or object, and no format can
 * escape it outside of quotes. U+2028 and U+2029 end a comment for kubectl and Ansible, which read YAML 1.1.
 */
export const refuseControl = (
  value: string,
  where: string,
  tryThis = 'use a path and values without these characters, or use --emit kubernetes',
): string => {
  if (!/[\p{Cc}\p{Zl}\p{Zp}]/u.test(value)) return value;
  throw new AppError(
    'usage',
    `invalid value ${JSON.stringify(value)}: ${where} cannot contain line breaks or control characters`,
    { code: 'CONTROL_CHARACTER', tryThis: [tryThis] },
  );
};
const bare = /^[A-Za-z0-9_./:=@,+-]+$/;
/** systemd.unit(5): `%` starts a specifier. */
const unitValue = (value: string): string => refuseControl(value, 'a systemd unit').replaceAll('%', '%%');
/** systemd keeps a dollar sign in the path of the program, and refuses a unit with a quote or a backslash in it. */
const unitProgram = (path: string): string => {
  const plain = unitValue(path);
  if (!/['"\\]/.test(plain)) return bare.test(plain) ? plain : `"${plain}"`;
  throw new AppError(
    'usage',
    `invalid path ${JSON.stringify(path)}: the path of a program in a systemd unit cannot contain quotes or backslashes`,
    { tryThis: ['install opsctl in another directory, or use --emit cron'] },
  );
};
/** systemd.service(5): `$` starts a variable in the arguments of a command line. */
const unitWord = (word: string, at: number): string => {
  if (at === 0) return unitProgram(word);
  const plain = unitValue(word).replaceAll('$', '$$$$');
  return bare.test(plain) ? plain : `"${plain.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
};
/**
 * systemd.exec(5): a list of paths has specifiers and quotes, but no variables. systemd keeps a backslash with the next
 * character. Therefore no text stands for a path with both quotes, or for one that ends with a backslash.
 */
const unitPath = (path: string): string => {
  const plain = unitValue(path);
  if (bare.test(plain)) return plain;
  const quote = ['"', "'"].find((one) => !plain.includes(one));
  if (quote !== undefined && !plain.endsWith('\\')) return `${quote}${plain}${quote}`;
  throw new AppError(
    'usage',
    `invalid path ${JSON.stringify(path)}: a systemd unit cannot contain a path with both kinds of quotes or a backslash at the end`,
    { tryThis: ['use another path, or --emit kubernetes'] },
  );
};
/** Returns the arguments of a container as text: Kubernetes replaces `$(NAME)` by a variable, which may be a secret. */
export const containerArguments = (words: readonly string[]): string[] =>
  words.map((word) => word.replaceAll('$', '$$$$'));
/**
 * `%` ends the command in a line of a crontab, and cron removes a backslash before it. The pair is outside of quotes: after
 * a backslash of the word, cron would not see the pair, and crond of BusyBox leaves the backslash to the shell.
 */
const cronWord = (word: string): string => {
  const quoted = shellLine([refuseControl(word, 'a crontab')]);
  return quoted.replaceAll('%', quoted.includes("'") ? "'\\%'" : '\\%');
};
type Value = string | readonly string[];
type Tag = (parts: TemplateStringsArray, ...values: readonly Value[]) => string;
/**
 * Escapes each value for the format. A string is the text of a setting or a comment, and a list is a command
 * line.
 */
const tagFor =
  (text: (value: string) => string, word: (value: string, at: number) => string): Tag =>
  (parts, ...values) =>
    String.raw(
      { raw: parts },
      ...values.map((value) => (typeof value === 'string' ? text(value) : value.map(word).join(' '))),
    );
const unitText = tagFor(unitValue, unitWord);
const unitPaths = tagFor(unitValue, unitPath);
const crontab = tagFor((value) => refuseControl(value, 'a crontab'), cronWord);
const unitName = ({ cluster }: Job): string => `opsctl-snapshot-${cluster.replace(/[^A-Za-z0-9_.-]/g, '-')}`;
/** The unit runs as root without its rights: it reads all files and writes only its state and the destination. */
const HARDENING = `UMask=0077
CapabilityBoundingSet=CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH
LockPersonality=yes
NoNewPrivileges=yes
PrivateDevices=yes
PrivateTmp=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=read-only
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectSystem=strict
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
`;
const writablePath = ({ directory }: Job): string =>
  directory === undefined
    ? ''
    : unitPaths`# The directory must exist: mkdir -p DIRECTORY
ReadWritePaths=${[directory]}
`;
const service = (job: Job): string => {
  const name = unitName(job);
  return `${unitText`# /etc/systemd/system/${name}.service
# systemctl daemon-reload && systemctl enable --now ${name}.timer
[Unit]
Description=Snapshot of the etcd cluster ${job.cluster}
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
ExecStart=${[...job.program, ...job.words]}
# Credentials of the object storage and OPSCTL_KV_PASSWORD: a file of root, mode 0600.
EnvironmentFile=-/etc/opsctl/${name}.env
StateDirectory=opsctl
Environment=OPSCTL_HOME=/var/lib/opsctl
Nice=10
IOSchedulingClass=idle
`}${writablePath(job)}${HARDENING}`;
};
const timer = (job: Job): string => unitText`# /etc/systemd/system/${unitName(job)}.timer
[Unit]
Description=Snapshots of the etcd cluster ${job.cluster}

[Timer]
OnCalendar=${job.calendar.systemd}
RandomizedDelaySec=60
# Runs a missed job when the machine is on again.
Persistent=yes

[Install]
WantedBy=timers.target
`;
const systemd = (job: Job): SchedulerFile[] => [
  { name: `${unitName(job)}.service`, text: service(job) },
  { name: `${unitName(job)}.timer`, text: timer(job) },
];
/** cron (MAX_COMMAND) drops the rest of a longer command without an error: `--keep-last 30` would become `--keep-last 3`. */
const MOST_CRON_BYTES = 999;
const cron = (job: Job): SchedulerFile[] => {
  // cron ignores files whose names contain a dot.
  const name = unitName(job).replaceAll('.', '-');
  const command = crontab`${[...job.program, ...job.words]}`;
  if (Buffer.byteLength(command) > MOST_CRON_BYTES)
    throw new AppError(
      'usage',
      `the command has ${Buffer.byteLength(command)} bytes: a line of a crontab has at most ${MOST_CRON_BYTES}`,
      { tryThis: ['use shorter paths, or --emit systemd'] },
    );
  const text = `${crontab`# /etc/cron.d/${name}: the fields of a system crontab, with the user in the sixth
${job.calendar.cron} root `}${command}\n`;
  return [{ name, text }];
};
const xmlText = (value: string): string =>
  refuseControl(value, 'a property list')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
/** launchd.plist(5): a property list for each kind of value that the job has. */
const plistValue = (value: unknown, indent: string): string => {
  if (typeof value === 'string') return `${indent}<string>${xmlText(value)}</string>\n`;
  if (typeof value === 'boolean') return `${indent}<${value}/>\n`;
  if (typeof value === 'number') return `${indent}<integer>${value}</integer>\n`;
  const more = `${indent}  `;
  if (Array.isArray(value))
    return `${indent}<array>\n${value.map((one) => plistValue(one, more)).join('')}${indent}</array>\n`;
  const rows = Object.entries(value as object).map(
    ([name, one]) => `${more}<key>${xmlText(name)}</key>\n${plistValue(one, more)}`,
  );
  return `${indent}<dict>\n${rows.join('')}${indent}</dict>\n`;
};
const launchd = (job: Job): SchedulerFile[] => {
  const name = unitName(job);
  const home = '/usr/local/var/opsctl';
  const list = {
    Label: name,
    ProgramArguments: [...job.program, ...job.words],
    StartCalendarInterval: job.calendar.launchd,
    EnvironmentVariables: { OPSCTL_HOME: home },
    ProcessType: 'Background',
    LowPriorityIO: true,
    Nice: 10,
    Umask: 0o077,
    StandardErrorPath: `/var/log/${name}.log`,
  };
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- sudo install -m 600 -o root -g wheel FILE /Library/LaunchDaemons/
     sudo launchctl bootstrap system /Library/LaunchDaemons/FILE
     Add the credentials of the object storage and OPSCTL_KV_PASSWORD to EnvironmentVariables. -->
<plist version="1.0">
${plistValue(list, '')}</plist>
`;
  return [{ name: `${name}.plist`, text }];
};
/** Returns an RFC 1123 label of at most 52 characters, because a CronJob appends eleven characters. */
const objectName = ({ cluster }: Job): string =>
  `opsctl-snapshot-${cluster.toLowerCase().replace(/[^a-z0-9-]/g, '-')}`.slice(0, 52).replace(/-+$/, '');
/** Where a container finds the cluster file. */
export const containerDirectory = '/etc/opsctl';
/** Where a container finds the certificates and the password file of the command. */
export const containerFiles = '/etc/opsctl-files';
/** A directory that is a volume cannot contain the mount points of other files, so each file is mounted alone. */
const clusterMounts = ({ clusterFiles = [] }: Job) =>
  clusterFiles.length === 0
    ? [{ name: 'cluster', mountPath: containerDirectory, readOnly: true }]
    : [
        {
          name: 'cluster',
          mountPath: `${containerDirectory}/cluster.yaml`,
          subPath: 'cluster.yaml',
          readOnly: true,
        },
        ...clusterFiles.map(({ name, mountPath }) => ({
          ...{ name: 'files', mountPath, subPath: name, readOnly: true },
        })),
      ];
/** The mount expects this name, whatever name the file has here. */
const clusterArgument = ({ clusterPath }: Job): string =>
  shellLine([`--from-file=cluster.yaml${clusterPath === undefined ? '' : `=${clusterPath}`}`]);
const mountedFiles = ({ secretFiles = [], clusterFiles = [] }: Job) => [...secretFiles, ...clusterFiles];
const container = (job: Job, name: string) => {
  const { image, words, directory, secretFiles = [] } = job;
  return {
    name: 'snapshot',
    image,
    args: containerArguments(words),
    envFrom: [{ secretRef: { name, optional: true } }],
    env: [{ name: 'OPSCTL_HOME', value: '/work/opsctl' }],
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: [
      ...clusterMounts(job),
      { name: 'work', mountPath: '/work' },
      ...(directory === undefined ? [] : [{ name: 'snapshots', mountPath: directory }]),
      ...(secretFiles.length === 0 ? [] : [{ name: 'files', mountPath: containerFiles, readOnly: true }]),
    ],
  };
};
const pod = (job: Job, name: string) => ({
  restartPolicy: 'Never',
  automountServiceAccountToken: false,
  securityContext: { runAsNonRoot: true, runAsUser: 65_532, fsGroup: 65_532 },
  containers: [container(job, name)],
  volumes: [
    { name: 'cluster', configMap: { name } },
    { name: 'work', emptyDir: {} },
    ...(job.directory === undefined
      ? []
      : [{ name: 'snapshots', persistentVolumeClaim: { claimName: name } }]),
    ...(mountedFiles(job).length === 0
      ? []
      : [{ name: 'files', secret: { secretName: `${name}-files`, defaultMode: 0o440 } }]),
  ],
});
const claim = (name: string) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '20Gi' } } },
});
const kubernetes = async (job: Job): Promise<SchedulerFile[]> => {
  const name = objectName(job);
  const object = {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name },
    spec: {
      schedule: job.calendar.cron,
      concurrencyPolicy: 'Forbid',
      startingDeadlineSeconds: 600,
      successfulJobsHistoryLimit: 1,
      failedJobsHistoryLimit: 3,
      jobTemplate: { spec: { backoffLimit: 2, template: { spec: pod(job, name) } } },
    },
  };
  const { directory } = job;
  const mounted = mountedFiles(job);
  const froms = mounted.map((one) => shellLine([`--from-file=${one.name}=${one.path}`])).join(' ');
  const notes = [
    refuseControl(`# kubectl create configmap ${name} ${clusterArgument(job)}`, 'a comment'),
    ...(mounted.length === 0
      ? []
      : [refuseControl(`# kubectl create secret generic ${name}-files ${froms}`, 'a comment')]),
    `# kubectl create secret generic ${name} --from-literal=AWS_ACCESS_KEY_ID=… --from-literal=AWS_SECRET_ACCESS_KEY=…`,
  ];
  const { stringify } = await import('../../platform/yaml.ts');
  const objects = directory === undefined ? [object] : [claim(name), object];
  const text = `${notes.join('\n')}\n${objects.map((one) => stringify(one)).join('---\n')}`;
  return [{ name: `${name}.yaml`, text }];
};
const makers: Readonly<Record<Scheduler, (job: Job) => SchedulerFile[] | Promise<SchedulerFile[]>>> = {
  systemd,
  cron,
  kubernetes,
  launchd,
};
/** Returns the files of the scheduler: two units, a crontab, a manifest or a property list. Pure. */
export const schedulerFiles = async (scheduler: Scheduler, job: Job): Promise<SchedulerFile[]> =>
  makers[scheduler](job);
/** Returns the units, the crontab line or the objects that run the snapshots, as one text. Pure. */
export const scheduleText = async (scheduler: Scheduler, job: Job): Promise<string> =>
  (await schedulerFiles(scheduler, job)).map(({ text }) => text).join('\n');

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const minuteMs = 60_000;
/**
 * A snapshot interval as calendar expressions: a number of minutes or hours that divides an hour or a day, or
 * one day.
 */
export type Calendar = {
  readonly cron: string;
  readonly systemd: string;
  /** launchd.plist(5): one entry for each time; a missing hour means every hour. */
  readonly launchd: readonly { readonly Hour?: number; readonly Minute: number }[];
};
/** 0, step, 2 * step, … below the end. */
const stepsBelow = (end: number, step: number): number[] =>
  Array.from({ length: end / step }, (_, at) => at * step);
const pad = (n: number): string => String(n).padStart(2, '0');
/**
 * Returns a fixed start minute for each name. Different names have different minutes, so that many clusters
 * do not start at the same time.
 */
const minuteOf = (name: string): number =>
  [...name].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 60, 7);
/**
 * Returns the calendar expressions, or undefined for an unsupported interval. Calendars restart with each
 * hour or day, so an interval that does not divide it would drift. Pure.
 */
export const calendarOf = (everyMs: number, name: string): Calendar | undefined => {
  const minute = minuteOf(name);
  if (everyMs >= 5 * minuteMs && everyMs < hourMs && hourMs % everyMs === 0 && everyMs % minuteMs === 0) {
    const step = everyMs / minuteMs;
    const launchd = stepsBelow(60, step).map((each) => ({ Minute: each }));
    return { cron: `*/${step} * * * *`, systemd: `*:00/${step}:00`, launchd };
  }
  if (everyMs === dayMs)
    return {
      cron: `${minute} 2 * * *`,
      systemd: `*-*-* 02:${pad(minute)}:00`,
      launchd: [{ Hour: 2, Minute: minute }],
    };
  if (everyMs >= hourMs && everyMs < dayMs && dayMs % everyMs === 0 && everyMs % hourMs === 0) {
    const step = everyMs / hourMs;
    const launchd = stepsBelow(24, step).map((hour) => ({ Hour: hour, Minute: minute }));
    return { cron: `${minute} */${step} * * *`, systemd: `*-*-* 00/${step}:${pad(minute)}:00`, launchd };
  }
  return undefined;
};
const leastEveryMs = 5 * minuteMs;
/** Returns the problem with a value of --every as a sentence, or undefined if it is valid. Pure. */
export const everyProblem = (text: string): string | undefined => {
  const ms = durationMs(text);
  if (ms === undefined) return 'is not a duration';
  return ms < leastEveryMs ? 'must be at least 5 minutes' : undefined;
};
