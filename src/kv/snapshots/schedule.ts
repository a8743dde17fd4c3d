import { AppError } from '../../core/problem.ts';
import { shellLine } from '../../core/shell.ts';
import type { Calendar } from './every.ts';

export const schedulers = ['systemd', 'cron', 'kubernetes'] as const;
export type Scheduler = (typeof schedulers)[number];

export type Job = {
  /** Of the cluster: part of unit and object names. */
  readonly cluster: string;
  /** The command of one run, without the program. */
  readonly words: readonly string[];
  readonly calendar: Calendar;
  /** How the program is started on this machine, for systemd and cron. */
  readonly program: readonly string[];
  readonly image?: string | undefined;
};

/** A line break would start another setting or another job, and both files have no escape for it outside of quotes. */
const isControl = (character: string): boolean =>
  character < ' ' || (character >= '\x7f' && character <= '\x9f');
const refuseControl = (value: string, where: string): string => {
  if (![...value].some(isControl)) return value;
  throw new AppError(
    'usage',
    `invalid value ${JSON.stringify(value)}: ${where} cannot contain line breaks or control characters`,
    { code: 'CONTROL_CHARACTER', tryThis: ['rename the file or directory, or use --emit kubernetes'] },
  );
};

const bare = /^[A-Za-z0-9_./:=@,+-]+$/;
/** systemd.unit(5): `%` starts a specifier. */
const unitValue = (value: string): string => refuseControl(value, 'a systemd unit').replaceAll('%', '%%');
/** systemd.service(5): `$` starts a variable of a command line. */
const unitWord = (word: string): string => {
  const plain = unitValue(word).replaceAll('$', '$$$$');
  return bare.test(plain) ? plain : `"${plain.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
};
/** In a line of a crontab `%` ends the command. */
const cronWord = (word: string): string =>
  shellLine([refuseControl(word, 'a crontab')]).replaceAll('%', '\\%');

type Value = string | readonly string[];
type Tag = (parts: TemplateStringsArray, ...values: readonly Value[]) => string;
/** Each value is data in that format: a string is the text of a setting or a comment, a list is a command line. */
const tagFor =
  (text: (value: string) => string, word: (value: string) => string): Tag =>
  (parts, ...values) =>
    String.raw(
      { raw: parts },
      ...values.map((value) => (typeof value === 'string' ? text(value) : value.map(word).join(' '))),
    );
const unitText = tagFor(unitValue, unitWord);
const crontab = tagFor((value) => refuseControl(value, 'a crontab'), cronWord);

const unitName = ({ cluster }: Job): string => `opsctl-snapshot-${cluster.replace(/[^A-Za-z0-9_.-]/g, '-')}`;

const systemd = (job: Job): string => {
  const name = unitName(job);
  return unitText`# /etc/systemd/system/${name}.service
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
PrivateTmp=yes
NoNewPrivileges=yes
ProtectHome=read-only

# /etc/systemd/system/${name}.timer
[Unit]
Description=Snapshots of the etcd cluster ${job.cluster}

[Timer]
OnCalendar=${job.calendar.systemd}
RandomizedDelaySec=60
# A run that was missed while the machine was off is made up for.
Persistent=yes

[Install]
WantedBy=timers.target
`;
};

const cron = (job: Job): string =>
  crontab`# /etc/cron.d/${unitName(job)}: the fields of a system crontab, with the user in the sixth
${job.calendar.cron} root ${[...job.program, ...job.words]}
`;

/** RFC 1123 label, at most 52 characters: a CronJob adds eleven to it. */
const objectName = ({ cluster }: Job): string =>
  `opsctl-snapshot-${cluster.toLowerCase().replace(/[^a-z0-9-]/g, '-')}`.slice(0, 52).replace(/-+$/, '');

const container = ({ image, words }: Job, name: string) => ({
  name: 'snapshot',
  image,
  args: words,
  envFrom: [{ secretRef: { name, optional: true } }],
  env: [{ name: 'OPSCTL_HOME', value: '/work/opsctl' }],
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  },
  volumeMounts: [
    { name: 'cluster', mountPath: '/etc/opsctl', readOnly: true },
    { name: 'work', mountPath: '/work' },
  ],
});
const pod = (job: Job, name: string) => ({
  restartPolicy: 'Never',
  automountServiceAccountToken: false,
  securityContext: { runAsNonRoot: true, runAsUser: 65_532, fsGroup: 65_532 },
  containers: [container(job, name)],
  volumes: [
    { name: 'cluster', configMap: { name } },
    { name: 'work', emptyDir: {} },
  ],
});
const kubernetes = async (job: Job): Promise<string> => {
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
  const notes = [
    `# kubectl create configmap ${name} --from-file=cluster.yaml`,
    `# kubectl create secret generic ${name} --from-literal=AWS_ACCESS_KEY_ID=… --from-literal=AWS_SECRET_ACCESS_KEY=…`,
  ];
  const { stringify } = await import('./yaml-package.ts');
  return `${notes.join('\n')}\n${stringify(object)}`;
};

const texts: Readonly<Record<Scheduler, (job: Job) => string | Promise<string>>> = {
  systemd,
  cron,
  kubernetes,
};

/** The units, the line or the object that runs one snapshot after the other. Pure. */
export const scheduleText = async (scheduler: Scheduler, job: Job): Promise<string> => texts[scheduler](job);
