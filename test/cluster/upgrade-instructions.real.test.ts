import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { call, hasBinaries, pair, type RealCluster, startCluster, binariesOf } from '../support/cluster.ts';
import { covers } from '../support/covers.ts';
import { opsctl, type Ran } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

/** The cluster for the rows of the table below. */
type Bed = {
  readonly dir: string;
  readonly file: string;
  readonly to: string;
  /** Returns the result of an unauthorized lease revoke at a member of the new version while versions are mixed. */
  revoke?(newMember: string): Promise<Ran>;
  stop(): Promise<unknown>;
};
type Event = { readonly at: number; readonly text: string };

let home: string;
let bed: Bed;
let cluster: RealCluster | undefined;
beforeEach(() => {
  home = makeDirectory();
});
afterEach(async () => {
  await bed?.stop();
});
const run = (...words: string[]) => opsctl(words, { home });
const kv = (...words: string[]) => run('kv', ...words, '--cluster', bed.file, '-o', 'json');

const simulated = async (...flags: string[]): Promise<Bed> => {
  const dir = join(home, 'c');
  const start = ['mock', 'kv', 'start', '--dir', dir, '--monitor-ms', '200', '--config-files', '--auth'];
  expect((await run(...start, ...flags, '-o', 'json')).code).toBe(0);
  const password = join(home, 'password');
  writeFileSync(password, 'x\n');
  const revoke = (url: string) =>
    run(
      ...['kv', 'lease', 'revoke', '1', '--endpoints', url, '--user', 'bob'],
      ...['--password-file', password, '--yes'],
    );
  const stop = () => run('mock', 'kv', 'stop', '--dir', dir, '--kill');
  return { dir, file: join(dir, 'cluster.yaml'), to: '3.3', revoke, stop };
};
/** Members with configuration files that the next version reads differently, v2 data, and a ctl program for a restore. */
const real = async (): Promise<Bed> => {
  const { from, to, prefix } = pair;
  cluster = await startCluster({ size: 3, from, to, ...(from === '3.2' ? {} : { extra: ['--enable-v2'] }) });
  const { ctl } = binariesOf(from) as { ctl: string };
  const members = cluster.members.map((member) => {
    const config_file = join(member.data_dir, '..', `${member.name}.yaml`);
    const words = member.old_command.slice(1).filter((word) => word !== '--enable-v2');
    const lines = words.flatMap((word, i) =>
      word.startsWith('--') ? [`${word.slice(2)}: ${JSON.stringify(words[i + 1])}`] : [],
    );
    const own =
      from === '3.2' ? ['auto-compaction-retention: 24'] : ['enable-v2: true', 'log-output: default'];
    writeFileSync(config_file, `${[...lines, ...own].join('\n')}\n`);
    const command = (binary: string) => [binary, '--config-file', config_file];
    return {
      ...member,
      config_file,
      old_command: command(member.old_binary),
      new_command: command(member.new_binary),
    };
  });
  for (const member of members) {
    cluster.kill(member, 'SIGTERM');
    await cluster.gone(member);
    cluster.start(member);
    await cluster.healthy();
  }
  cluster.write({ snapshot_dir: join(cluster.directory, 'snapshots'), ctl_binary: ctl }, members);
  const put = await fetch(`${cluster.urls[0]}/v2/keys/a`, {
    method: 'PUT',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'value=v2',
  });
  expect(put.status).toBe(201);
  expect((await call(`${cluster.urls[0]}${prefix}/kv/put`, { key: 'YQ==', value: 'YQ==' })).status).toBe(200);
  const running = cluster;
  return { dir: cluster.directory, file: cluster.file, to, stop: () => running.stop() };
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};
/** The events on the machine, without the journal: processes that stop and start, and files that appear. */
const watchMachine = (names: readonly string[]) => {
  const events: Event[] = [];
  // The file is missing for a moment while it is replaced.
  const pidOf = (name: string): number => {
    try {
      return Number(readFileSync(join(bed.dir, `${name}.pid`), 'utf8'));
    } catch {
      return 0;
    }
  };
  const filesOf = (name: string) => {
    const snapshots = join(bed.dir, 'snapshots');
    const saved = existsSync(snapshots) ? readdirSync(snapshots).filter((file) => file.endsWith('.db')) : [];
    return [
      ...saved.filter((file) => file.includes(`-${name}-`)).map((file) => [file, 'snapshot']),
      ...readdirSync(bed.dir)
        .filter((file) => file.startsWith(`${name}.data.`) && !file.endsWith('.partial'))
        .map((file) => [file, 'copy']),
    ] as [string, string][];
  };
  const known = new Map(
    names.map((name) => [
      name,
      { pid: pidOf(name), isUp: true, files: new Set(filesOf(name).map(([file]) => file)) },
    ]),
  );
  const look = (): void => {
    for (const [name, seen] of known) {
      const note = (text: string) => void events.push({ at: Date.now(), text: `machine ${name} ${text}` });
      const files = filesOf(name).filter(([file]) => !seen.files.has(file));
      for (const [file, kind] of files.filter(([, kind]) => kind === 'snapshot')) {
        seen.files.add(file);
        note(kind);
      }
      if (seen.isUp && !isAlive(seen.pid)) {
        seen.isUp = false;
        note('down');
      }
      for (const [file, kind] of files.filter(([, kind]) => kind === 'copy')) {
        seen.files.add(file);
        note(kind);
      }
      const pid = pidOf(name);
      if (!seen.isUp && pid !== seen.pid && isAlive(pid)) {
        Object.assign(seen, { pid, isUp: true });
        note('up');
      }
    }
  };
  const timer = setInterval(look, 10);
  return () => {
    clearInterval(timer);
    look();
    return events;
  };
};
const journalOf = (path: string): Event[] =>
  readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
    .flatMap(({ at, kind, step, plan }) => [
      ...((plan?.findings ?? []) as { guard: string; level: string }[]).map(({ guard, level }) => ({
        at: Date.parse(at),
        text: `run guard ${guard} ${level}`,
      })),
      { at: Date.parse(at), text: `run ${kind}${step === undefined ? '' : ` ${step}`}` },
    ]);

/** All events from the first check to the refused rollback, in chronological order. */
const runWholeGuide = async () => {
  const trace: string[] = [];
  const checked = await kv('check');
  for (const { guard, level } of checked.json().findings) trace.push(`check guard ${guard} ${level}`);
  for (const note of checked.json().notes) trace.push(`check note ${note}`);
  const bare = await kv('upgrade', '--yes');
  trace.push(`upgrade without a copy of v2 data ${bare.code}`);
  const plan = (await kv('plan', '--copy-data')).json();
  const planText = await run('kv', 'plan', '--copy-data', '--cluster', bed.file);
  for (const [, note] of planText.stdout.matchAll(/^note for \S+: (.*)$/gm)) trace.push(`plan note ${note}`);
  const names =
    (plan.order as string[] | undefined) ?? Object.keys(parse(readFileSync(bed.file, 'utf8')).members);
  const fast = ['--copy-data', '--stable-for', '0', '--stable-before-last', '0', '--yes'];
  const held = await kv('upgrade', '--hold-last', ...fast);
  trace.push(`upgrade held before the last member ${held.code}`);
  const [first = ''] = names;
  const { members } = parse(readFileSync(bed.file, 'utf8')) as {
    members: { name: string; client_url: string }[];
  };
  const upgraded = members.find(({ name }) => name === first)?.client_url ?? '';
  if (bed.revoke !== undefined)
    trace.push(`lease revoke at the new version ${(await bed.revoke(upgraded)).code}`);
  trace.push(`rollback of a mixed cluster ${(await kv('rollback', '--yes')).code}`);
  const stopWatching = watchMachine(names);
  const done = await kv('upgrade', '--accept-point-of-no-return', ...fast);
  const machine = stopWatching();
  expect(done.code === 0 ? '' : done.stderr).toBe('');
  const merged = [...journalOf(done.json().journal), ...machine].sort((a, b) => a.at - b.at);
  trace.push(...merged.map(({ text }) => text));
  trace.push(`cluster version ${(await kv('status')).json().cluster_version}`);
  const late = await kv('rollback', '--yes');
  trace.push(`rollback after the point of no return ${late.code} ${late.stderr}`);
  // The run changes the current leader last, and the leader may have changed since the plan.
  const begun = merged.flatMap(({ text }) => /^run begin (\w+)\.stop$/.exec(text)?.[1] ?? []);
  const stopped = [...new Set(begun)];
  expect([...stopped].sort()).toEqual([...names].sort());
  return { trace, names: stopped };
};

type Proof = {
  /** The first cell of its row in docs/reference/upgrade-instructions.md. */
  readonly instruction: string;
  /** Each of these events precedes each event of `action`. NAME is every member, and NEXT is the member after it. */
  readonly before: readonly RegExp[] | readonly string[];
  readonly action: string;
  /** Only the path from 3.2 to 3.3 has this rule. */
  readonly only?: 'simulated';
};
const FIRST_STOP = 'run begin FIRST.stop';
const proofs: readonly Proof[] = [
  {
    instruction: 'Check the health of all members',
    before: [
      'check guard all-members-healthy pass',
      'run guard all-members-healthy pass',
      'run guard one-cluster pass',
      'run guard leader-agreed pass',
    ],
    action: FIRST_STOP,
  },
  {
    instruction: 'The cluster runs 3.2 or later',
    before: ['check guard version-path pass', 'run guard version-path pass'],
    action: FIRST_STOP,
  },
  {
    instruction: 'Test dependent services in staging',
    before: ['check note .*staging', 'plan note .*staging'],
    action: FIRST_STOP,
  },
  {
    instruction: 'Back up the data directory of all members',
    before: ['upgrade without a copy of v2 data 10', 'run end NAME.copy-data', 'machine NAME copy'],
    action: 'machine NAME up',
  },
  {
    instruction: 'A snapshot covers only v3 data',
    before: ['check guard v2-backup fail', 'run guard v2-backup pass'],
    action: FIRST_STOP,
  },
  {
    instruction: 'Stop one member at a time',
    before: ['machine NAME up', 'run end NAME.gate'],
    action: 'machine NEXT down',
  },
  {
    instruction: 'Save a snapshot',
    before: ['run end NAME.snapshot', 'machine NAME snapshot'],
    action: 'machine NAME down',
  },
  {
    instruction: 'Expect warnings about newer members',
    before: ['check note .*expected', 'plan note .*expected'],
    action: FIRST_STOP,
  },
  {
    instruction: 'Start the new binary',
    before: ['run guard binaries-are-right pass', 'run end NAME.stop', 'machine NAME down'],
    action: 'machine NAME up',
  },
  {
    instruction: 'Verify the member and the cluster',
    before: ['run begin NAME.start', 'run end NAME.gate'],
    action: 'run begin NEXT.stop',
  },
  {
    instruction: 'Repeat for every other member',
    before: ['machine NAME down', 'machine NAME up', 'run end NAME.gate'],
    action: 'run begin confirm',
  },
  {
    instruction: 'Return to 3.2 while one member still runs it',
    before: ['upgrade held before the last member 8', 'rollback of a mixed cluster 12'],
    action: 'machine LAST down',
  },
  {
    instruction: 'Confirm that the cluster reports 3.3',
    before: ['run end LAST.gate', 'run end confirm'],
    action: 'cluster version TO.0',
  },
  {
    instruction: 'No downgrade afterwards',
    before: ['check guard restore-possible pass', 'run guard restore-possible pass', 'machine LAST down'],
    action: 'rollback after the point of no return 10 .*kv restore',
  },
  {
    instruction: 'Write the retention as text in the configuration file',
    before: ['run guard configuration-fits (pass|warn)', 'run end NAME.configure'],
    action: 'run begin NAME.start',
  },
  {
    instruction: 'Set a duration with mode `periodic`',
    before: ['check guard configuration-fits (pass|warn)'],
    action: FIRST_STOP,
  },
  {
    instruction: 'Wait two minutes between members with more than 50 MB of v2 data',
    before: ['check guard v2-settle pass', 'run guard v2-settle pass'],
    action: FIRST_STOP,
  },
  {
    instruction:
      'Upgrade to 3.2.31 first with authentication and short leases; send no lease revoke to 3.3 members',
    before: ['run guard least-versions pass', 'run guard auth-and-leases \\w+'],
    action: FIRST_STOP,
  },
  {
    instruction:
      'Upgrade to 3.2.31 first with authentication and short leases; send no lease revoke to 3.3 members',
    before: ['lease revoke at the new version 10'],
    action: 'machine LAST down',
    only: 'simulated',
  },
];
/** The reasons why the trace does not prove the row: a missing or late event. */
const gapsOf = ({ before, action }: Proof, trace: readonly string[], names: readonly string[]): string[] => {
  const [first = '', last = ''] = [names[0], names.at(-1)];
  const isOfMember = [...before, action].some((text) => /NAME|NEXT/.test(String(text)));
  const members = isOfMember ? names : [first];
  return members.flatMap((name, i) => {
    const next = names[i + 1];
    if (/NEXT/.test(action) && next === undefined) return [];
    const filled = (text: string | RegExp) =>
      new RegExp(
        `^${String(text)
          .replaceAll('NAME', name)
          .replaceAll('NEXT', next ?? '')
          .replaceAll('FIRST', first)
          .replaceAll('LAST', last)
          .replaceAll('TO', bed.to)}`,
      );
    const at = trace.findIndex((text) => filled(action).test(text));
    if (at === -1) return [`${filled(action)} did not happen`];
    return before.flatMap((text) => {
      const found = trace.findIndex((one) => filled(text).test(one));
      return found !== -1 && found < at ? [] : [`${filled(text)} did not precede ${filled(action)}`];
    });
  });
};

// docs/reference/upgrade-instructions.md
it('the table of proofs has every instruction of the reference page, and no other', () => {
  const page = readFileSync(new URL('../../docs/reference/upgrade-instructions.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| (.+?) \| /gm)].map(([, cell]) => cell).slice(1);
  expect([...new Set(proofs.map(({ instruction }) => instruction))].sort()).toEqual(rows.toSorted());
  expect(rows).toHaveLength(18);
});
describe.each(['simulated', 'real'] as const)(
  'the instructions of the upgrade guide on %s members',
  (kind) => {
    it.runIf(kind === 'simulated' || hasBinaries(pair.from, pair.to))(
      'each check and each backup runs before the action that it protects',
      async () => {
        bed = kind === 'simulated' ? await simulated('--v2-size', '4000000') : await real();
        const { trace, names } = await runWholeGuide();
        const applicable = proofs.filter(({ only }) => only === undefined || only === kind);
        const gaps = applicable.flatMap((proof) =>
          gapsOf(proof, trace, names).map((gap) => `${proof.instruction}: ${gap}`),
        );
        expect(gaps, trace.join('\n')).toEqual([]);
      },
    );
  },
);
it('with more than 50 MB of v2 data, the plan waits two minutes after each member', async () => {
  bed = await simulated('--v2-size', '60000000');
  const planned = await kv('plan', '--copy-data');
  expect(planned.code, planned.stderr).toBe(0);
  const { steps } = planned.json() as { steps: { id: string; title: string }[] };
  const order = steps.map(({ id }) => id);
  const waits = steps.filter(({ id }) => /settle/.test(id));
  expect(waits).toHaveLength(2);
  for (const { id, title } of waits) {
    expect(title).toMatch(/120|2 min|two minutes/);
    const member = id.split('.')[0] as string;
    expect(order.indexOf(id)).toBeGreaterThan(order.indexOf(`${member}.gate`));
  }
});
it(
  'check, plan and config lint print the tasks that opsctl cannot do',
  covers('spec/store#procedure-1', 'spec/store#items-5'),
  async () => {
    bed = await simulated();
    const shown = async (...words: string[]) => (await run('kv', ...words, '-o', 'table')).stdout;
    const [staging, debug] = [/note for 3\.3: .*staging/, /note for 3\.3: .*gRPC server logs .*debug/];
    for (const command of ['check', 'plan']) {
      const text = await shown(command, '--cluster', bed.file);
      expect([staging.test(text), debug.test(text)], command).toEqual([true, true]);
    }
    const file = join(home, 'etcd.yml');
    writeFileSync(file, 'name: n1\n');
    const { stderr } = await run('kv', 'config', 'lint', file, '--to', '3.3');
    expect([staging.test(stderr), debug.test(stderr)]).toEqual([true, true]);
  },
);
