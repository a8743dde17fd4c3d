import { spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import {
  calendarOf,
  everyProblem,
  type Scheduler,
  schedulerFiles,
  schedulers,
  scheduleText,
} from '../../../src/kv/snapshots/schedule.ts';
import { makeDirectory } from '../../support/directory.ts';
import { kubernetesProblems } from '../../support/kubernetes-schemas.ts';

const minute = 60_000;
const calendar = {
  cron: '7 */6 * * *',
  systemd: '*-*-* 00/6:07:00',
  launchd: [0, 6, 12, 18].map((hour) => ({ Hour: hour, Minute: 7 })),
};
const job = {
  cluster: 'prod',
  words: ['kv', 'snapshot', 'schedule', '/var/my backups/50%', '--once', '--keep-last', '8'],
  program: ['/usr/bin/node', '/opt/opsctl/bin/opsctl.js'],
  calendar,
  image: 'registry.example/opsctl:1',
};

/** The text contains two files, each below its path. */
const unitsIn = (text: string): readonly (readonly [name: string, text: string])[] =>
  text
    .split(/^(?=# \/etc\/systemd\/system\/)/m)
    .filter((part) => part.trim() !== '')
    .map((part) => [/system\/(\S+)/.exec(part)?.[1] ?? '', part] as const);

const verifyUnits = async (): Promise<void> => {
  const directory = makeDirectory();
  const units = unitsIn(await scheduleText('systemd', { ...job, program: [process.execPath] }));
  expect(units.map(([name]) => name)).toEqual(['opsctl-snapshot-prod.service', 'opsctl-snapshot-prod.timer']);
  for (const [name, text] of units) writeFileSync(join(directory, name), text);
  const paths = units.map(([name]) => join(directory, name));
  const verified = spawnSync('systemd-analyze', ['verify', '--man=no', ...paths], {
    encoding: 'utf8',
    env: { ...process.env, SYSTEMD_UNIT_PATH: `${directory}:` },
  });
  // systemd-analyze also reads other units of the machine. Only messages about the opsctl unit count.
  expect(verified.stderr.split('\n').filter((line) => line.includes('opsctl-snapshot'))).toEqual([]);
  expect(verified.status, verified.stderr).toBe(0);
  const read = spawnSync('systemd-analyze', ['calendar', calendar.systemd], { encoding: 'utf8' });
  expect([read.status, read.stdout]).toEqual([0, expect.stringContaining('Next elapse')]);
};

/** The words of a command line of systemd.service(5): specifiers, quotes, escapes, then variables. */
const wordsOfUnit = (line: string): string[] =>
  [...line.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, quoted, bare]) =>
    (quoted?.replaceAll(/\\([\\"])/g, '$1') ?? bare ?? '').replaceAll('%%', '%').replaceAll('$$', '$'),
  );
/** A property list as Python reads it: macOS has no other rules for XML lists. */
const readPlist = (text: string): unknown => {
  const code = 'import json, plistlib, sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))';
  const read = spawnSync('python3', ['-c', code], { input: text, encoding: 'utf8' });
  if (read.error !== undefined) return undefined;
  expect(read.stderr).toBe('');
  return JSON.parse(read.stdout);
};

/** How cron reads the command of a line, as its do_command function does: the command, and what it gets as input. */
const commandOfCron = (text: string): { readonly command: string; readonly input: string | undefined } => {
  let command = '';
  for (let i = 0; i < text.length; i += 1) {
    const each = text[i] ?? '';
    if (each === '%') return { command, input: text.slice(i + 1) };
    const after = each === '\\' ? (text[i + 1] ?? '') : '';
    command += after === '%' ? after : each + after;
    i += after.length;
  }
  return { command, input: undefined };
};
// biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of a shell
const variable = '${HOME}';
const hostile = [
  variable,
  ...[
    '$(touch ran)',
    '`touch ran`',
    "'; touch ran; '",
    '"; touch ran; "',
    ';',
    '& touch ran',
    '> ran',
    '*',
    '~',
  ],
  ...[
    '50%',
    '%',
    'a\\%b',
    'a\\\\%b',
    '\\',
    "a\\'%b",
    '%%\\%',
    '%n',
    '%h',
    '$HOME',
    '$(HOME)',
    '{{ x }}',
    '{% x %}',
  ],
  ...[
    '# x',
    ']]>',
    '--><x/>',
    '</string><true/>',
    '&lt;',
    '::set-output name=x::y',
    '\u202egpj.exe',
    '\u200b',
    ' x ',
    '!x',
    '!!x',
  ],
];
const wordsHere = ['/d', ...hostile];

describe('how often', () => {
  it('a calendar accepts only divisors of an hour or a day', () => {
    expect(calendarOf(15 * minute, 'x')).toEqual({
      cron: '*/15 * * * *',
      systemd: '*:00/15:00',
      launchd: [{ Minute: 0 }, { Minute: 15 }, { Minute: 30 }, { Minute: 45 }],
    });
    expect(calendarOf(360 * minute, '')).toEqual(calendar);
    expect(calendarOf(1440 * minute, '')).toEqual({
      cron: '7 2 * * *',
      systemd: '*-*-* 02:07:00',
      launchd: [{ Hour: 2, Minute: 7 }],
    });
    for (const minutes of [7, 45, 90, 300, 2880])
      expect(calendarOf(minutes * minute, 'x'), `${minutes}`).toBeUndefined();
  });
  it('clusters start at different but constant minutes', () => {
    const names = ['a', 'b', 'prod', 'staging', 'orders'];
    // A later version must return the same minutes: the units of a cluster stay unchanged.
    expect(names.map((name) => calendarOf(60 * minute, name)?.cron)).toEqual(
      [14, 15, 54, 36, 32].map((at) => `${at} */1 * * *`),
    );
  });
  it('less than five minutes is refused', () => {
    expect(everyProblem('5m')).toBeUndefined();
    expect(everyProblem('4m59s')).toBe('must be at least 5 minutes');
    expect(everyProblem('often')).toBe('is not a duration');
  });
});

describe('output for schedulers', () => {
  it('systemd: one word stays one word, and a percent sign is not a specifier', async () => {
    const text = await scheduleText('systemd', job);
    expect(text).toContain(
      'ExecStart=/usr/bin/node /opt/opsctl/bin/opsctl.js kv snapshot schedule "/var/my backups/50%%" --once --keep-last 8\n',
    );
    expect(text).toContain('OnCalendar=*-*-* 00/6:07:00\n');
    expect(text).toContain('Persistent=yes');
  });
  it('systemd itself accepts the units and reads the calendar', ({ skip }) => {
    const found = spawnSync('systemd-analyze', ['--version'], { encoding: 'utf8' });
    if (found.error !== undefined) return skip('there is no systemd-analyze');
    return verifyUnits();
  });
  it('cron: the shell that runs the line gets the same words', async () => {
    const line = (await scheduleText('cron', job)).split('\n')[1] ?? '';
    const command = /^7 \*\/6 \* \* \* root \S+ \S+ (.*)$/.exec(line)?.[1] ?? '';
    // cron converts \% to % before it starts the shell.
    const seen = spawnSync('sh', ['-c', `printf '%s\\n' ${command.replaceAll('\\%', '%')}`], {
      encoding: 'utf8',
    });
    expect(seen.stdout.trimEnd().split('\n')).toEqual(job.words);
  });
  it.each([
    ['cron', commandOfCron],
    [
      'crond of BusyBox, which leaves the percent sign to the shell',
      (command: string) => ({ command, input: undefined }),
    ],
  ])('a shell gets %s as it is: every word of a hostile line', async (_, read) => {
    for (const word of hostile) {
      const line = (await scheduleText('cron', { ...job, words: ['x', word, 'y'] })).split('\n')[1] ?? '';
      const { command, input } = read(/^7 \*\/6 \* \* \* root \S+ \S+ (.*)$/.exec(line)?.[1] ?? '');
      const directory = makeDirectory();
      const seen = spawnSync('sh', ['-c', `printf '%s\\0' ${command}`], { encoding: 'utf8', cwd: directory });
      expect([word, input, seen.stdout, readdirSync(directory)]).toEqual([
        word,
        undefined,
        `x\0${word}\0y\0`,
        [],
      ]);
    }
  });
  it('a command that cron would cut off is refused', async () => {
    const text = (size: number) =>
      scheduleText('cron', { ...job, words: ['x'.repeat(size), '--keep-last', '30'] });
    const rest = `${job.program.join(' ')}  --keep-last 30`.length;
    expect(await text(999 - rest)).toContain(' --keep-last 30\n');
    await expect(text(1_000 - rest)).rejects.toMatchObject({ category: 'usage' });
  });
  it('systemd passes every hostile word to the program unchanged', async ({ skip }) => {
    const found = spawnSync('systemd-analyze', ['--version'], { encoding: 'utf8' });
    if (found.error !== undefined) return skip('there is no systemd-analyze');
    const directory = makeDirectory();
    const text = await scheduleText('systemd', { ...job, program: ['/bin/echo'], words: wordsHere });
    for (const [name, unit] of unitsIn(text)) writeFileSync(join(directory, name), unit);
    const unit = join(directory, 'opsctl-snapshot-prod.service');
    const verified = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' });
    expect(verified.stderr.split('\n').filter((line) => line.includes('opsctl-snapshot'))).toEqual([]);
    const exec = text.split('\n').filter((line) => line.startsWith('ExecStart='));
    expect(exec.map((line) => wordsOfUnit(line.slice('ExecStart='.length)))).toEqual([
      ['/bin/echo', ...wordsHere],
    ]);
  });
  it.each(['\n', '\r', '\0', '\x1b[2J', '\x85', '\u2028', '\u2029'])(
    'no file contains the line break %j',
    async (sign) => {
      const end = `${sign}* * * * * root touch ran`;
      for (const scheduler of ['systemd', 'cron', 'launchd'] as const)
        await expect(scheduleText(scheduler, { ...job, words: [`/d${end}`] })).rejects.toMatchObject({
          detail: { code: 'CONTROL_CHARACTER' },
        });
      const inComment = scheduleText('kubernetes', { ...job, clusterPath: `/c${sign}apiVersion: v1` });
      await expect(inComment).rejects.toMatchObject({ detail: { code: 'CONTROL_CHARACTER' } });
      const text = await scheduleText('kubernetes', { ...job, words: [`/d${sign}apiVersion: v1`] });
      expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
      expect(parse(text).spec.jobTemplate.spec.template.spec.containers[0].args).toEqual([
        `/d${sign}apiVersion: v1`,
      ]);
    },
  );
  it('Kubernetes: a CronJob whose container has these arguments and no rights', async () => {
    const object = parse(await scheduleText('kubernetes', job));
    expect(object).toMatchObject({
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      spec: { schedule: calendar.cron, concurrencyPolicy: 'Forbid' },
    });
    const { containers, securityContext } = object.spec.jobTemplate.spec.template.spec;
    expect(containers[0]).toMatchObject({ image: job.image, args: job.words });
    expect(securityContext.runAsNonRoot).toBe(true);
  });
  it('launchd: a property list with each word as one argument and each time of the calendar', async ({
    skip,
  }) => {
    const words = [...job.words, '/a & b/<c>/"d"/\'e\'/--/]]>/\u00e9'];
    const [file, ...more] = await schedulerFiles('launchd', { ...job, cluster: 'prod & <x>', words });
    expect([file?.name, more]).toEqual(['opsctl-snapshot-prod----x-.plist', []]);
    expect(file?.text.startsWith('<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE plist ')).toBe(true);
    const list = readPlist(file?.text ?? '');
    if (list === undefined) return skip('there is no python3');
    expect(list).toEqual({
      Label: 'opsctl-snapshot-prod----x-',
      ProgramArguments: [...job.program, ...words],
      StartCalendarInterval: calendar.launchd,
      EnvironmentVariables: { OPSCTL_HOME: '/usr/local/var/opsctl' },
      ...{ ProcessType: 'Background', LowPriorityIO: true, Nice: 10, Umask: 63 },
      StandardErrorPath: '/var/log/opsctl-snapshot-prod----x-.log',
    });
  });
  it('scheduler files contain no secret', async () => {
    for (const scheduler of schedulers)
      expect(await scheduleText(scheduler, job)).not.toMatch(/AWS_SECRET_ACCESS_KEY=[^…]/);
  });
});

describe('values of a schedule', () => {
  it.each(['systemd', 'cron', 'launchd'] as const)(
    '%s rejects a line break and names the value',
    async (scheduler) => {
      for (const path of ['/var/x\n* * * * * root evil', '/a\rb', '/a\u0085b', '/a\u0000b'])
        await expect(scheduleText(scheduler, { ...job, words: ['kv', path] })).rejects.toMatchObject({
          ...{ category: 'usage', detail: { code: 'CONTROL_CHARACTER' } },
          message: expect.stringContaining(JSON.stringify(path)),
        });
      await expect(scheduleText('systemd', { ...job, cluster: 'a\nb' })).rejects.toThrow('line breaks');
    },
  );
  it('values in a unit are data: no specifier, no variable, one word', async () => {
    const text = await scheduleText('systemd', { ...job, cluster: '%h', words: ['/a b/%h/$HOME/"x"\\'] });
    expect(text).toContain(
      'ExecStart=/usr/bin/node /opt/opsctl/bin/opsctl.js "/a b/%%h/$$HOME/\\"x\\"\\\\"\n',
    );
    expect(text).toContain('Description=Snapshot of the etcd cluster %%h\n');
  });
  it('a directory in a unit is data: a dollar sign and quotes are themselves', async () => {
    const paths = async (directory: string) =>
      (await scheduleText('systemd', { ...job, directory }))
        .split('\n')
        .find((line) => line.startsWith('ReadWrite'));
    expect(await paths('/a/$HOME 50%')).toBe('ReadWritePaths="/a/$HOME 50%%"');
    expect(await paths('/a\\b/x"y')).toBe(`ReadWritePaths='/a\\b/x"y'`);
    expect(await paths("/it's /")).toBe(`ReadWritePaths="/it's /"`);
    for (const path of [`/it's "/`, '/a b\\'])
      await expect(paths(path)).rejects.toThrow(`invalid path ${JSON.stringify(path)}`);
  });
  /** What Kubernetes makes of an argument (k8s.io/utils, third_party/forked/golang/expansion). */
  const expand = (text: string): string =>
    text.replaceAll(/\$(?:\$|\(([^)]*)\))/g, (all, name) => (all === '$$' ? '$' : `value of ${name}`));
  it.each(['/a/$(OPSCTL_KV_PASSWORD)', '$$(A)', '$', '$$', '/$A/$(', '$$$(A)', ...hostile])(
    'Kubernetes passes %j to the command without a variable in it',
    async (path) => {
      const object = parse(await scheduleText('kubernetes', { ...job, words: ['kv', path] }));
      const [container] = object.spec.jobTemplate.spec.template.spec.containers;
      expect(container.args.map(expand)).toEqual(['kv', path]);
    },
  );
});

/** What each reader has: the files that the output names, and a destination that it can write. */
const placed = {
  ...job,
  directory: '/var/my backups/50%',
  program: [process.execPath, '/opt/opsctl/bin/opsctl.js'],
  words: [
    ...[
      'kv',
      'snapshot',
      'schedule',
      '/var/my backups/50%',
      '--once',
      '--cluster',
      '/etc/opsctl/cluster.yaml',
    ],
    ...['--cacert', '/etc/opsctl-files/cacert', '--key', '/etc/opsctl-files/key'],
  ],
  secretFiles: [
    { name: 'cacert', path: '/etc/ssl/my ca.pem' },
    { name: 'key', path: '/etc/ssl/key.pem' },
  ],
};
type Files = Readonly<Record<string, string>>;
const run = (program: string, args: readonly string[], input?: string) =>
  spawnSync(program, args, { encoding: 'utf8', ...(input === undefined ? {} : { input }) });
const hasProgram = (program: string): boolean => run(program, ['--version']).error === undefined;
const checks: Readonly<Record<Scheduler, (files: Files, directory: string) => void>> = {
  systemd: (files, directory) => {
    const [service = '', timer = ''] = Object.keys(files);
    expect([service, timer]).toEqual(['opsctl-snapshot-prod.service', 'opsctl-snapshot-prod.timer']);
    expect(files[service]).toContain('ReadWritePaths="/var/my backups/50%%"\n');
    if (!hasProgram('systemd-analyze')) return;
    const verified = run('systemd-analyze', ['verify', '--man=no', join(directory, service)]);
    expect(verified.stderr.split('\n').filter((line) => line.includes('opsctl-snapshot'))).toEqual([]);
    const rated = run('systemd-analyze', [
      ...['security', '--offline=true', '--threshold=40'],
      join(directory, service),
    ]);
    if (!/offline/.test(rated.stderr)) expect(rated.status, rated.stdout).toBe(0);
  },
  cron: (files) => {
    const [[name, text] = ['', '']] = Object.entries(files);
    expect(name).toMatch(/^[A-Za-z0-9_-]+$/);
    const [line = ''] = text.split('\n').filter((one) => one !== '' && !one.startsWith('#'));
    expect(line).toMatch(/^(\S+ ){5}root \//);
    const command = line.split(' ').slice(6).join(' ').replaceAll('\\%', '%');
    expect(run('sh', ['-n'], command).status).toBe(0);
    expect(text.endsWith('\n')).toBe(true);
  },
  kubernetes: (files) => {
    const objects = parseAllDocuments(Object.values(files).join('')).map((one) => one.toJS());
    expect(objects.flatMap(kubernetesProblems)).toEqual([]);
    const claims = objects
      .filter(({ kind }) => kind === 'PersistentVolumeClaim')
      .map(({ metadata }) => metadata.name);
    const { containers, volumes } = objects.at(-1).spec.jobTemplate.spec.template.spec;
    const [{ args, volumeMounts, env }] = containers;
    const mountOf = (path: string) =>
      volumeMounts.find(({ mountPath }: any) => path === mountPath || path.startsWith(`${mountPath}/`));
    const volumeOf = (path: string) => volumes.find(({ name }: any) => name === mountOf(path)?.name);
    for (const path of args.filter((arg: string) => arg.startsWith('/')))
      expect(volumeOf(path), path).toBeDefined();
    expect(claims).toContain(volumeOf(placed.directory).persistentVolumeClaim.claimName);
    expect(mountOf(placed.directory).readOnly).toBeUndefined();
    expect(volumeOf('/etc/opsctl-files/key').secret.secretName).toBe('opsctl-snapshot-prod-files');
    expect(mountOf(env[0].value).readOnly).toBeUndefined();
    const writable = volumeMounts.filter(({ readOnly }: any) => readOnly !== true);
    expect(writable.map(({ name }: any) => name)).toEqual(['work', 'snapshots']);
    for (const { name } of placed.secretFiles)
      expect(Object.values(files).join('')).toMatch(
        new RegExp(`^# kubectl create secret .*--from-file=${name}=|'--from-file=${name}=`, 'm'),
      );
  },
  launchd: (files, directory) => {
    const [[name, text] = ['', ''], ...more] = Object.entries(files);
    expect([name, more]).toEqual(['opsctl-snapshot-prod.plist', []]);
    const list = readPlist(text) as { readonly ProgramArguments: readonly string[] } | undefined;
    if (list !== undefined) expect(list.ProgramArguments).toEqual([...placed.program, ...placed.words]);
    if (hasProgram('plutil')) expect(run('plutil', ['-lint', join(directory, name)]).status).toBe(0);
  },
};
describe.each(schedulers)('the files for %s', (scheduler) => {
  it('run with what their reader has', async () => {
    const directory = makeDirectory();
    const files = await schedulerFiles(scheduler, placed);
    for (const { name, text } of files) writeFileSync(join(directory, name), text);
    checks[scheduler](Object.fromEntries(files.map(({ name, text }) => [name, text])), directory);
  });
});

it('Kubernetes: each file that the cluster file names is mounted where the container reads it', async () => {
  const clusterFiles = [
    { name: 'ca_file', path: '/home/ana/pki/ca.pem', mountPath: '/etc/opsctl/pki/ca.pem' },
    { name: 'key_file', path: '/etc/kv/key.pem', mountPath: '/etc/kv/key.pem' },
  ];
  const text = await scheduleText('kubernetes', { ...job, clusterFiles });
  expect(kubernetesProblems(parse(text))).toEqual([]);
  const { containers, volumes } = parse(text).spec.jobTemplate.spec.template.spec;
  const mounts = containers[0].volumeMounts as { name: string; mountPath: string; subPath?: string }[];
  for (const { name, mountPath } of clusterFiles)
    expect(mounts).toContainEqual({ name: 'files', mountPath, subPath: name, readOnly: true });
  expect(mounts.map(({ mountPath }) => mountPath)).not.toContain('/etc/opsctl');
  expect(volumes.find(({ name }: { name: string }) => name === 'files').secret.secretName).toMatch(/-files$/);
  expect(text).toContain('--from-file=ca_file=/home/ana/pki/ca.pem --from-file=key_file=/etc/kv/key.pem');
});

it.each([
  ['schedule:', 'shedule:'],
  ['concurrencyPolicy: Forbid', 'concurrencyPolicy: Never'],
  ['restartPolicy: Never', 'restartPolicy: Always'],
  ['readOnly: true', 'readonly: true'],
  ['runAsNonRoot: true', 'runAsNonRoot: "true"'],
  ['emptyDir: {}', 'emptyDir: {}\n              configMap: {name: a}'],
  ['name: opsctl-snapshot-prod', 'name: opsctl_snapshot_prod'],
])('the schema of a CronJob rejects %j as %j', async (right, wrong) => {
  const text = await scheduleText('kubernetes', job);
  expect(kubernetesProblems(parse(text))).toEqual([]);
  expect(kubernetesProblems(parse(text.replace(right, wrong)))).not.toEqual([]);
});
