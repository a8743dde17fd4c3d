import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Binaries,
  binariesOf,
  call,
  hasBinaries,
  missingWrites,
  pair,
  pause,
  type RealCluster,
  type RealMember,
  startCluster,
  startWriter,
} from '../support/cluster.ts';
import { opsctl, type Ran } from '../support/program.ts';
import { whenJournal } from '../support/when-journal.ts';
import { covers } from '../support/covers.ts';
import { makeDirectory } from '../support/directory.ts';
import { hangTimer } from '../support/hang.ts';
import { errorOf } from '../support/facts.ts';

const { from, to } = pair;
let cluster: RealCluster;
let home: string;
beforeEach(() => {
  home = makeDirectory();
});
afterEach(async () => {
  await cluster?.stop();
});

const kv = (verb: string, more: string[] = [], host?: Parameters<typeof opsctl>[1]['host']): Promise<Ran> =>
  opsctl(['kv', verb, '--cluster', cluster.file, '--yes', '-o', 'json', ...more], {
    home,
    ...(host === undefined ? {} : { host }),
  });
const toTheEnd = '--accept-point-of-no-return';
const error = (ran: Ran): { code: string; message: string; hint: string } => errorOf(ran);
const versionsOf = async (field: string): Promise<string[]> =>
  Promise.all(
    cluster.urls.map(async (url) =>
      (JSON.parse((await call(`${url}/version`).catch(() => ({ text: '{}' }))).text)[field] ?? 'off').slice(
        0,
        3,
      ),
    ),
  );
const journalText = (ran: Ran): string => readFileSync(ran.json().journal, 'utf8');

/** A program that prints the new version, serves, and exits when this file appears. */
const mortal = (): { readonly path: string; readonly trigger: string } => {
  const { server } = binariesOf(to) as Binaries;
  const [path, trigger] = [join(cluster.directory, 'mortal'), join(cluster.directory, 'die')];
  writeFileSync(
    path,
    `#!/bin/sh
if [ "$1" = --version ]; then exec ${server} --version; fi
${server} "$@" &
child=$!
trap 'kill -TERM $child; wait $child; exit 0' TERM
while kill -0 $child 2>/dev/null; do
  if [ -e ${trigger} ]; then echo 'panic: told to die' ; kill -9 $child; exit 7; fi
  sleep 0.05
done
wait $child
`,
  );
  chmodSync(path, 0o755);
  return { path, trigger };
};

describe.runIf(hasBinaries(from, to))('the point of no return is the version of the cluster', () => {
  it(
    'a new version that crashes on the last member is rolled back while the cluster version is old',
    covers('defect/U-44'),
    async () => {
      cluster = await startCluster({ size: 3, from, to });
      const { path, trigger } = mortal();
      const victim = cluster.members[1] as RealMember;
      cluster.write(
        {},
        cluster.members.map((member) =>
          member === victim
            ? { ...member, new_binary: path, new_command: [path, ...member.new_command.slice(1)] }
            : member,
        ),
      );
      const writer = startWriter(cluster.urls);
      let diedAt = 0;
      // The last old member has received its stop signal, so no member runs the old version from now on.
      const host = whenJournal(/crossing-confirmed[\s\S]*"begin","step":"n\d\.start"/, () => {
        writeFileSync(trigger, '');
        diedAt = performance.now();
      });
      const ran = await kv('upgrade', [toTheEnd], host);
      expect(`${ran.code} ${ran.stderr}`).toMatch(/^12 /);
      expect(diedAt).toBeGreaterThan(0);
      expect(error(ran)).toMatchObject({ code: 'MEMBER_REVERTED' });
      expect(error(ran).message).toMatch(/^n2 .*told to die.* n2 runs \d\.\d again/);
      expect(await versionsOf('etcdserver')).toEqual([to, from, to]);
      expect(new Set(await versionsOf('etcdcluster'))).toEqual(new Set([from]));
      const { acknowledged, failed } = await writer.stop();
      expect(failed).toBe(0);
      for (const url of cluster.urls) expect(await missingWrites(url, acknowledged)).toEqual([]);
      // After the repair, the run continues.
      rmSync(trigger);
      const resumed = await kv('resume', [toTheEnd]);
      expect(`${resumed.code} ${resumed.stderr}`).toMatch(/^0 /);
      expect(await versionsOf('etcdcluster')).toEqual([to, to, to]);
    },
  );

  it(
    'after the version has changed the message reports it, and resume starts the new version again',
    covers('defect/U-45'),
    async () => {
      cluster = await startCluster({ size: 3, from, to });
      const last = (): RealMember => cluster.members[1] as RealMember;
      // After the journal line that records the changed cluster version, a member that passed its health check
      // crashes.
      const host = whenJournal(/"kind":"crossed"/, () => cluster.kill(last(), 'SIGKILL'));
      const ran = await kv('upgrade', [toTheEnd], host);
      if (ran.code === 0) {
        // Every member had the new version in the same observation, so the run did not wait.
        expect(ran.json().outcome).toBe('done');
        return;
      }
      expect(ran.code).toBe(8);
      expect(error(ran).message).toContain(`n2 can no longer run ${from}`);
      expect(error(ran).hint).toContain('opsctl kv resume');
      const resumed = await kv('resume', [toTheEnd]);
      expect(`${resumed.code} ${resumed.stderr}`).toMatch(/^0 /);
      expect(await versionsOf('etcdserver')).toEqual([to, to, to]);
    },
  );

  it(
    '--yes starts a run and holds before the last member; a loop around resume cannot cross it; the flag made for it does',
    covers('defect/U-32'),
    async () => {
      cluster = await startCluster({ size: 3, from, to });
      const held = await kv('upgrade');
      expect(held.code).toBe(8);
      expect(held.json()).toMatchObject({ outcome: 'held' });
      expect((await versionsOf('etcdserver')).sort()).toEqual([from, to, to]);
      for (let i = 0; i < 2; i += 1) {
        const again = await kv('resume');
        expect(again.code).toBe(8);
        expect(error(again)).toMatchObject({ code: 'HELD' });
      }
      // A new run would pass the hold, even if its flags accept the last member.
      const anew = await kv('upgrade', [toTheEnd]);
      expect([anew.code, error(anew).code]).toEqual([10, 'HELD_RUN']);
      expect((await versionsOf('etcdserver')).sort()).toEqual([from, to, to]);
      // The run passes the hold and holds at the same position, because the operator did not confirm.
      const past = await kv('resume', ['--past-hold']);
      expect(past.json()).toMatchObject({ outcome: 'held' });
      const done = await kv('resume', [toTheEnd]);
      expect(`${done.code} ${done.stderr}`).toMatch(/^0 /);
      expect(await versionsOf('etcdcluster')).toEqual([to, to, to]);
      // The last member gets a new snapshot, because its earlier snapshot does not contain the writes during
      // the hold.
      expect(journalText(done).match(/"end","step":"n\d\.snapshot"/g)?.length).toBeGreaterThanOrEqual(3);
    },
  );

  it('--hold-after 1 stops after one member without a leftover process; resume continues', async () => {
    cluster = await startCluster({ size: 3, from, to });
    const held = await kv('upgrade', ['--hold-after', '1', toTheEnd]);
    expect(held.code).toBe(8);
    expect(held.json().message).toMatch(/^held after 1 of 3 members \(n\d on /);
    expect((await versionsOf('etcdserver')).filter((version) => version === to)).toHaveLength(1);
    const again = await kv('resume', ['--hold-after', '1']);
    expect(again.json().message).toMatch(/^held (after 2 of 3 members|before n\d, the last member)/);
    expect((await kv('resume', [toTheEnd])).code).toBe(0);
  });

  it(
    'all upgraded members are healthy together for the requested time before the last one is stopped',
    covers('defect/U-36'),
    async () => {
      cluster = await startCluster({ size: 3, from, to });
      const ran = await opsctl(
        [
          'kv',
          'upgrade',
          '--cluster',
          cluster.file,
          '--yes',
          toTheEnd,
          '--stable-before-last',
          '3',
          '-o',
          'ndjson',
        ],
        { home },
      );
      expect(ran.code).toBe(0);
      const events = ran.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      const waits = events.filter(
        ({ event, reason = '' }) => event === 'waiting' && /at the same time/.test(reason),
      );
      expect(waits.length).toBeGreaterThan(0);
      expect(waits[0].remaining_ms).toBeLessThanOrEqual(3000);
      const [gated, stopped] = [
        events.filter(({ event, step }) => event === 'step-finished' && step.kind === 'gate')[1],
        events.filter(({ event }) => event === 'member-down')[2],
      ];
      expect(stopped.elapsed_ms - gated.elapsed_ms).toBeGreaterThanOrEqual(2500);
    },
  );
  it(
    'a member that exits while the run waits there is rolled back, and the wait ends',
    covers('defect/U-50'),
    async () => {
      cluster = await startCluster({ size: 3, from, to });
      const running = kv('upgrade', [toTheEnd, '--stable-before-last', '600']);
      let upgraded: RealMember[] = [];
      for (const isHung = hangTimer(); !isHung() && upgraded.length < 2; ) {
        await pause(100);
        const now = await versionsOf('etcdserver');
        upgraded = cluster.members.filter((_, at) => now[at] === to);
      }
      await pause(3000);
      cluster.kill(upgraded[0] as RealMember, 'SIGKILL');
      const ran = await running;
      expect(`${ran.code} ${ran.stderr}`).toMatch(/^12 /);
      expect(error(ran)).toMatchObject({ code: 'MEMBER_REVERTED' });
    },
  );
});
