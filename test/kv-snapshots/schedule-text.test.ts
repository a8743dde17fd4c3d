import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { schedulers, scheduleText } from '../../src/kv-snapshots/emit.ts';
import { calendarOf, everyProblem } from '../../src/kv-snapshots/every.ts';

const minute = 60_000;
const calendar = { cron: '7 */6 * * *', systemd: '*-*-* 00/6:07:00' };
const job = {
  cluster: 'prod',
  words: ['kv', 'snapshot', 'schedule', '/var/my backups/50%', '--once', '--keep-last', '8'],
  program: ['/usr/bin/node', '/opt/opsctl/bin/opsctl.js'],
  calendar,
  image: 'registry.example/opsctl:1',
};

describe('how often', () => {
  it('a calendar says what divides an hour or a day, and nothing else', () => {
    expect(calendarOf(15 * minute, 'x')).toEqual({ cron: '*/15 * * * *', systemd: '*:00/15:00' });
    expect(calendarOf(360 * minute, '')).toEqual(calendar);
    expect(calendarOf(1440 * minute, '')).toEqual({ cron: '7 2 * * *', systemd: '*-*-* 02:07:00' });
    for (const minutes of [7, 45, 90, 300, 2880])
      expect(calendarOf(minutes * minute, 'x'), `${minutes}`).toBeUndefined();
  });
  it('clusters begin at different minutes, each always at its own', () => {
    const minutes = ['a', 'b', 'prod', 'staging'].map((name) => calendarOf(60 * minute, name)?.cron);
    expect(new Set(minutes).size).toBe(4);
    expect(calendarOf(60 * minute, 'prod')?.cron).toBe(minutes[2]);
  });
  it('less than five minutes is refused', () => {
    expect(everyProblem('5m')).toBeUndefined();
    expect(everyProblem('4m59s')).toBe('must be at least 5 minutes');
    expect(everyProblem('often')).toBe('is not a duration');
  });
});

describe('what a scheduler is given', () => {
  it('systemd: one word stays one word, and a percent sign is no specifier', async () => {
    const text = await scheduleText('systemd', job);
    expect(text).toContain(
      'ExecStart=/usr/bin/node /opt/opsctl/bin/opsctl.js kv snapshot schedule "/var/my backups/50%%" --once --keep-last 8\n',
    );
    expect(text).toContain('OnCalendar=*-*-* 00/6:07:00\n');
    expect(text).toContain('Persistent=yes');
  });
  it('cron: the shell that runs the line gets the same words', async () => {
    const line = (await scheduleText('cron', job)).split('\n')[1] ?? '';
    const command = /^7 \*\/6 \* \* \* root \S+ \S+ (.*)$/.exec(line)?.[1] ?? '';
    // cron turns \% into % before the shell sees it.
    const seen = spawnSync('sh', ['-c', `printf '%s\\n' ${command.replaceAll('\\%', '%')}`], {
      encoding: 'utf8',
    });
    expect(seen.stdout.trimEnd().split('\n')).toEqual(job.words);
  });
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
  it('no secret stands in any of them', async () => {
    for (const scheduler of schedulers)
      expect(await scheduleText(scheduler, job)).not.toMatch(/AWS_SECRET_ACCESS_KEY=[^…]/);
  });
});
