import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Host } from '../../src/platform/host.ts';
import {
  base64,
  binariesOf,
  call,
  type ClusterOptions,
  gatewayPut,
  hasBinaries,
  missingWrites,
  pair,
  pause,
  type RealCluster,
  type RealMember,
  startCluster,
  startWriter,
  type Writer,
} from '../support/cluster.ts';
import { opsctl, type Ran } from '../support/program.ts';
import { whenJournal } from '../support/when-journal.ts';
import { makeDirectory } from '../support/directory.ts';
import { errorOf } from '../support/facts.ts';

const { older, from, to, beyond, prefix } = pair;
let cluster: RealCluster;
let writer: Writer | undefined;
let home: string;
beforeEach(() => {
  home = makeDirectory();
});
afterEach(async () => {
  await writer?.stop();
  writer = undefined;
  await cluster?.stop();
});

/** The longer half of the suite. */
const isSoak = process.env.OPSCTL_SOAK === '1';
const start = async (options: Partial<ClusterOptions> = {}): Promise<void> => {
  cluster = await startCluster({ size: 3, from, to, ...options });
};
type More = { host?: (host: Host) => Host; env?: Record<string, string>; home?: string; format?: string };
const upgrade = (more: string[] = [], { format = 'json', ...options }: More = {}): Promise<Ran> =>
  opsctl(
    [
      'kv',
      'upgrade',
      '--cluster',
      cluster.file,
      '--yes',
      '--accept-point-of-no-return',
      '-o',
      format,
      ...more,
    ],
    { home, ...options },
  );
const error = (ran: Ran): { code: string; message: string; hint: string; exit_code: number } => errorOf(ran);

const versions = async (): Promise<string[]> =>
  Promise.all(
    cluster.urls.map(async (url) =>
      (
        JSON.parse((await call(`${url}/version`).catch(() => ({ text: '{}' }))).text).etcdserver ?? 'off'
      ).slice(0, 3),
    ),
  );
const pids = (): (number | undefined)[] => cluster.members.map((member) => cluster.pid(member));

/** Every responding member has all acknowledged writes. */
const nothingIsLost = async (): Promise<void> => {
  const { acknowledged, failed } = (await writer?.stop()) ?? { acknowledged: [], failed: 0 };
  writer = undefined;
  expect(failed).toBe(0);
  expect(acknowledged.length).toBeGreaterThan(10);
  for (const url of cluster.urls) expect(await missingWrites(url, acknowledged).catch(() => [])).toEqual([]);
};

/** A program that prints the right version and then misbehaves. */
const program = (name: string, body: string): string => {
  const path = join(cluster.directory, name);
  const real = binariesOf(to);
  writeFileSync(
    path,
    `#!/bin/sh\nif [ "$1" = --version ]; then exec ${'missing' in real ? 'false' : real.server} --version; fi\n${body.replaceAll('REAL', 'missing' in real ? '' : real.server)}\n`,
  );
  chmodSync(path, 0o755);
  return path;
};
/** Records the signals that the run sends to members. */
const withSignalsIn =
  (sent: string[]) =>
  (host: Host): Host => ({
    ...host,
    processes: {
      ...host.processes,
      signal: (pid, signal) => {
        sent.push(signal);
        return host.processes.signal(pid, signal);
      },
    },
  });
/** The first follower gets this program as its new version. */
const withNewProgram = (path: string, settings: Record<string, unknown> = {}): void =>
  cluster.write(
    settings,
    cluster.members.map((member) => ({
      ...member,
      new_binary: path,
      new_command: [path, ...member.new_command.slice(1)],
    })),
  );

/** A refusal names its reason, takes at most two seconds and changes no member. */
const isRefusedUntouched = async (
  code: string,
  text: RegExp,
  more: string[] = [],
  before = pids(),
): Promise<void> => {
  const ran = await upgrade(more);
  expect(ran.code).toBe(10);
  expect(error(ran)).toMatchObject({ code, exit_code: 10 });
  expect(error(ran).message).toMatch(text);
  expect(ran.waitedMs).toBeLessThan(2000);
  expect(pids()).toEqual(before);
};

const real = describe.runIf(hasBinaries(from, to, beyond));

real('a new version that does not work', () => {
  const faults: [title: string, body: string, reason: RegExp][] = [
    ['crashes at its start', 'echo boom; exit 3', /exit code 3\) \(the end of its log: boom\)/],
    ['exits later', 'REAL "$@" & sleep 1.2; kill -9 $!; exit 7', /exit code 7|does not exist/],
    [
      'never becomes healthy',
      'trap "exit 0" TERM; while :; do sleep 0.1; done',
      /version|ECONNREFUSED|nothing listens/,
    ],
  ];
  it.each(faults)('%s: the member gets its old version back', async (_, body, reason) => {
    await start();
    withNewProgram(program('broken', body), { timeouts: { gate_seconds: 2, stable_seconds: 2 } });
    writer = startWriter(cluster.urls);
    const sent: string[] = [];
    const ran = await upgrade([], { format: 'ndjson', host: withSignalsIn(sent) });
    expect(ran.code).toBe(12);
    expect(error(ran)).toMatchObject({ code: 'MEMBER_REVERTED' });
    expect(error(ran).message).toMatch(/^n\d (did not become healthy|was healthy, then unhealthy)/);
    expect(error(ran).message).toMatch(reason);
    // Each process has an exit code or still runs.
    expect(`${error(ran).message} ${error(ran).hint}`).not.toMatch(/kill/);
    const events = ran.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.map(({ event }) => event)).toContain('reverted');
    // A run kills a member only when its wait for the exit reaches its limit, so no wait reached it.
    expect(sent).toContain('SIGTERM');
    expect(sent).not.toContain('SIGKILL');
    expect(await versions()).toEqual([from, from, from]);
    await nothingIsLost();
  });
  it('ends after its gate: the next member is not stopped, and this one gets its old version back', async () => {
    await start();
    writer = startWriter(cluster.urls);
    let victim: RealMember | undefined;
    const ends = (journal: string): void => {
      const name = /"end","step":"(n\d)\.gate"/.exec(readFileSync(journal, 'utf8'))?.[1];
      victim = cluster.members.find((member) => member.name === name);
      cluster.kill(victim as RealMember, 'SIGKILL');
    };
    const ran = await upgrade([], { host: whenJournal(/"end","step":"n\d\.gate"/, ends) });
    expect(`${ran.code} ${ran.stderr}`).toMatch(/^12 /);
    expect(error(ran).message.replace(/ \(the end of its log: .*?\)\. /, '. ')).toBe(
      `${victim?.name} passed its health check on ${to}, but its process has exited since. ${victim?.name} runs ${from} again; no other member was changed`,
    );
    expect(await versions()).toEqual([from, from, from]);
    await nothingIsLost();
  });
  it('does not exist any more when its turn comes: refused before any stop', async () => {
    await start();
    withNewProgram(join(cluster.directory, 'nothing'));
    await isRefusedUntouched('BINARIES_ARE_RIGHT', /cannot read the version of the new binary/);
  });
});

real('refusals: nothing is touched', () => {
  it('a member is down before', async () => {
    await start();
    const down = cluster.members[1] as RealMember;
    cluster.kill(down, 'SIGKILL');
    await cluster.gone(down);
    await isRefusedUntouched('ALL_MEMBERS_HEALTHY', /n2 does not respond/);
    expect(await versions()).toEqual([from, 'off', from]);
  });
  it.each([
    ['is down', 'SIGKILL', false],
    ['is suspended', 'SIGSTOP', true],
  ] as const)(
    'a member that %s is upgraded first, and no other member is stopped before it is healthy',
    async (_, signal, hasStop) => {
      await start();
      const first = cluster.members[0] as RealMember;
      cluster.kill(first, signal);
      // The others may have to elect a leader first.
      for (const url of cluster.urls.slice(1))
        await expect.poll(async () => (await call(`${url}/health`)).status).toBe(200);
      writer = startWriter(cluster.urls);
      const refused = await upgrade();
      expect([refused.code, refused.stderr]).toEqual([
        10,
        expect.stringContaining('--accept all-members-healthy'),
      ]);
      const ran = await upgrade(['--accept', 'all-members-healthy', '--hold-after', '1']);
      expect(ran.code).toBe(8);
      const [own, second, third] = await versions();
      expect([own, second, third]).toEqual([to, from, from]);
      const resumed = await opsctl(
        ['kv', 'resume', '--cluster', cluster.file, '--yes', '--accept-point-of-no-return', '-o', 'json'],
        { home },
      );
      expect([resumed.code, await versions()]).toEqual([0, [to, to, to]]);
      expect(/"step":"n1\.stop"/.test(readFileSync(JSON.parse(resumed.stdout).journal, 'utf8'))).toBe(
        hasStop,
      );
      await nothingIsLost();
    },
  );
  it('a member that another operator replaces is reported with that operator', async () => {
    await start();
    const owner = { user: 'ada', host: 'elsewhere', pid: 7 };
    await gatewayPut(
      cluster.urls[0] as string,
      'opsctl/upgrade-lock',
      JSON.stringify({ run: 'other', owner, since: '2026-01-01T00:00:00.000Z' }),
    );
    const down = cluster.members[1] as RealMember;
    cluster.kill(down, 'SIGTERM');
    await cluster.gone(down);
    await isRefusedUntouched(
      'LOCKED',
      /the cluster is locked by another operator: ada on elsewhere, process 7/,
    );
  });
  it('a wrong binary, one minor too far', async () => {
    await start();
    const wrong = binariesOf(beyond) as { server: string };
    withNewProgram(wrong.server);
    await isRefusedUntouched(
      'BINARIES_ARE_RIGHT',
      new RegExp(`new binary is ${beyond}\\.\\d+, but the target of the upgrade is ${to}`),
    );
  });
  it('a skipped minor, a downgrade', async () => {
    await start();
    await isRefusedUntouched('VERSION_PATH', new RegExp(`${from} to ${beyond} skips a minor version`), [
      '--to',
      beyond,
    ]);
    // opsctl knows no version before 3.2, so that --to 3.1 is a wrong value of the flag.
    if (from !== '3.2') await isRefusedUntouched('VERSION_PATH', /downgrade/, ['--to', older]);
  });
  it('a data directory that is not writable', async () => {
    await start();
    const directory = (cluster.members[2] as RealMember).data_dir;
    chmodSync(directory, 0o500);
    await isRefusedUntouched('DATA_DIRECTORIES', /n3: the data directory .* is not writable/);
    chmodSync(directory, 0o700);
  });
  it('an alarm is raised', async () => {
    await start({ extra: ['--quota-backend-bytes', '100000'] });
    for (let i = 0; i < 80; i += 1)
      await gatewayPut(cluster.urls[0] as string, `fill/${i}`, 'x'.repeat(20_000)).catch(() => {});
    const ran = await upgrade();
    expect(ran.code).toBe(10);
    expect(ran.stderr).toContain('alarm NOSPACE is raised');
    expect(await versions()).toEqual([from, from, from]);
  });
});

real('authentication', () => {
  const post = async (path: string, body: unknown): Promise<void> => {
    const reply = await call(`${cluster.urls[0]}${prefix}${path}`, body);
    expect(reply.text).not.toContain('error');
    expect(reply.status).toBe(200);
  };
  it('an upgrade without a user is refused; with one every member is checked with its own token', async () => {
    await start();
    await post('/auth/user/add', { name: 'root', password: 'open sesame' });
    await post('/auth/role/add', { name: 'root' });
    await post('/auth/user/grant', { user: 'root', role: 'root' });
    await post('/auth/enable', {});
    await isRefusedUntouched(
      'AUTH_AND_LEASES',
      /authentication is on and the cluster file does not name a user/,
    );
    cluster.write({ user: { name: 'root', password_env: 'SECRET_OF_STORE' } });
    const wrong = await upgrade([], { env: { SECRET_OF_STORE: 'wrong' } });
    expect(wrong.code).toBe(10);
    const ran = await upgrade([], { env: { SECRET_OF_STORE: 'open sesame' } });
    expect(ran.code).toBe(0);
    expect(ran.stdout + ran.stderr + wrong.stderr).not.toContain('open sesame');
    expect(await versions()).toEqual([to, to, to]);
  });
});

real('things that happen in the middle', () => {
  it('a full disk during a snapshot stops the run, the member is unchanged, a resume continues', async () => {
    await start();
    const full = (host: Host): Host => ({
      ...host,
      files: {
        ...host.files,
        replaceStream: async (_path, data) => {
          for await (const _ of data)
            throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
          return 0;
        },
      },
    });
    const before = pids();
    const ran = await upgrade([], { host: full });
    expect(ran.code).toBe(8);
    expect(error(ran).message).toMatch(/^n\d: cannot write its snapshot: ENOSPC: no space left/);
    expect(pids()).toEqual(before);
    if (!isSoak) return;
    writer = startWriter(cluster.urls);
    const resumed = await opsctl(
      ['kv', 'resume', '--cluster', cluster.file, '--yes', '--accept-point-of-no-return', '-o', 'json'],
      {
        home,
      },
    );
    expect(resumed.code).toBe(0);
    expect(await versions()).toEqual([to, to, to]);
    await nothingIsLost();
  });

  it('a member is cut off while another is replaced: no further stop, the quorum is kept', async () => {
    await start();
    writer = startWriter(cluster.urls);
    const before = pids();
    const running = upgrade();
    // When the first member has a new process, a member later in the order freezes.
    let [changed, isOver] = [-1, false];
    void running.then(() => (isOver = true));
    while (changed < 0 && !isOver) {
      await pause(5);
      changed = pids().findIndex((pid, at) => pid !== before[at]);
    }
    expect(changed).not.toBe(-1);
    const victim = cluster.members.findLast((_, at) => at !== changed) as RealMember;
    cluster.kill(victim, 'SIGSTOP');
    const ran = await running;
    expect(ran.code).toBe(8);
    expect(error(ran).message).toContain(victim.name);
    expect(cluster.members.filter((member) => cluster.isAlive(member)).length).toBe(3);
    cluster.kill(victim, 'SIGCONT');
    await cluster.healthy();
    if (!isSoak) return nothingIsLost();
    const resumed = await opsctl(
      ['kv', 'resume', '--cluster', cluster.file, '--yes', '--accept-point-of-no-return', '-o', 'json'],
      {
        home,
      },
    );
    expect(resumed.code).toBe(0);
    expect(await versions()).toEqual([to, to, to]);
    await nothingIsLost();
  });

  it('a member ignores the stop: it is not killed, and it still serves', async () => {
    await start();
    // The pid file contains a shell that ignores SIGTERM, and its server continues.
    const follower = cluster.members[1] as RealMember;
    const leader = JSON.parse((await call(`${follower.client_url}${prefix}/maintenance/status`, {})).text);
    const stubborn = (
      leader.leader === leader.header.member_id ? cluster.members[0] : follower
    ) as RealMember;
    cluster.kill(stubborn, 'SIGTERM');
    await cluster.gone(stubborn);
    const shell = join(cluster.directory, 'stubborn');
    writeFileSync(
      shell,
      `#!/bin/sh\ntrap "" TERM\n(trap - TERM; exec "$@") &\nchild=$!\ntrap "" TERM\nwhile kill -0 $child 2>/dev/null; do sleep 0.2; done\n`,
    );
    chmodSync(shell, 0o755);
    const members = cluster.members.map((member) =>
      member.name === stubborn.name ? { ...member, old_command: [shell, ...member.old_command] } : member,
    );
    cluster.write({ timeouts: { stop_seconds: 1 } }, members);
    cluster.start(members.find(({ name }) => name === stubborn.name) as RealMember);
    await cluster.healthy();
    const ran = await upgrade();
    const server = Number((await call(`${stubborn.client_url}/health`)).status);
    expect(ran.code).toBe(8);
    expect(error(ran)).toMatchObject({ code: 'STOP_IGNORED' });
    expect(error(ran).message).toContain(`${stubborn.name} did not exit within 1 s`);
    expect(server).toBe(200);
    const { execFileSync } = await import('node:child_process');
    execFileSync('sh', [
      '-c',
      `for p in $(grep -lsa -- ${stubborn.data_dir} /proc/[0-9]*/cmdline | cut -d/ -f3); do [ $p = $$ ] || kill -9 $p 2>/dev/null; done; true`,
    ]);
  });

  it('two operators at the same time: one works, the other gets its name', async () => {
    await start();
    const other = makeDirectory();
    const all = await Promise.all([
      upgrade(['--no-canary']),
      upgrade(['--no-canary']),
      upgrade(['--no-canary'], { home: other }),
    ]);
    // One command acquires the lock. The others report it on this machine and on other machines.
    expect(all.map(({ code }) => code).sort((x, y) => x - y)).toEqual([0, 10, 10]);
    for (const ran of all.filter(({ code }) => code === 10))
      expect(error(ran).message).toMatch(/locked by another operator|is unfinished/);
    const { text } = await call(`${cluster.urls[0]}${prefix}/kv/range`, {
      key: base64('opsctl/'),
      range_end: base64('opsctl0'),
      count_only: true,
    });
    expect(JSON.parse(text).count ?? '0').toBe('0');
  });
});
