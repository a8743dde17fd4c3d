import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { TOKEN, type TrackerServer, startTracker } from '../support/tracker-server.ts';
import { covers } from '../support/covers.ts';
import { makeDirectory } from '../support/directory.ts';

const BIN = process.env.OPSCTL_TEST_BIN ?? fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));
let server: TrackerServer;
let home: string;
beforeAll(async () => {
  server = await startTracker();
  home = makeDirectory();
});

/** A job of a CI system: bash without its startup files, only the environment variables of the job, and no terminal. */
const job = (script: string): Promise<{ code: number | null; stdout: string; stderr: string }> =>
  new Promise((resolve, reject) => {
    const path = join(home, 'job.sh');
    writeFileSync(path, `set -euo pipefail\nopsctl() { node '${BIN}' "$@"; }\n${script}\n`);
    const child = spawn('bash', ['--noprofile', '--norc', path], {
      cwd: home,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
        OPSCTL_HOME: join(home, 'state'),
        OPSCTL_TRACKER_URL: new URL(server.base).origin,
        OPSCTL_TRACKER_TOKEN: TOKEN,
        OPSCTL_RATE_PER_MINUTE: 'off',
      },
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (data: string) => {
      stdout += data;
    });
    child.stderr.setEncoding('utf8').on('data', (data: string) => {
      stderr += data;
    });
    child.once('error', reject).once('close', (code) => resolve({ code, stdout, stderr }));
  });

test('nightly sync: the workspace becomes equal to the file, and the second night makes no changes', async () => {
  writeFileSync(
    join(home, 'workspace.yaml'),
    'labels:\n  - name: "triage: new"\n    external_id: L-1\n    color: "#cc0000"\nepics:\n  - name: Quarter\n    external_id: E-1\n    labels: ["triage: new"]\n',
  );
  const nightly = `
    opsctl tracker diff -f workspace.yaml --out plan.json --markdown > plan.md && changed=0 || changed=$?
    case $changed in
      0) echo "up to date" ;;
      20) opsctl tracker apply --plan plan.json --yes -o json --jq '.done | length' ;;
      *) exit "$changed" ;;
    esac`;
  const first = await job(nightly);
  expect([first.code, first.stdout]).toEqual([0, '2\n']);
  expect(readFileSync(join(home, 'plan.md'), 'utf8')).toContain('| create | epics | Quarter |');
  const second = await job(nightly);
  expect([second.code, second.stdout]).toEqual([0, 'up to date\n']);
  const renamed = readFileSync(join(home, 'workspace.yaml'), 'utf8').replaceAll(
    'triage: new',
    'triage: "fresh"'.replaceAll('"', ''),
  );
  writeFileSync(join(home, 'workspace.yaml'), renamed);
  expect((await job(nightly)).stdout).toBe('1\n');
  const names = (await server.ask('GET', '/labels')).body.map(({ name }: { name: string }) => name);
  expect(names).toContain('triage: fresh');
  expect(names).not.toContain('triage: new');
});

test('triage bot: unowned stories get a label, row by row, and a second run makes no changes', async () => {
  for (const name of ['Disk "full"', "It's $HOME | late", 'é: 50 % off'])
    await server.ask('POST', '/epics', { name, description: 'unowned' });
  const bot = `
    opsctl tracker epics list -o ndjson --jq 'select(.owner_ids == [] and (.labels | map(.name) | index("needs-owner") | not) and .archived == false)
        | {op: "update", resource: "epics", id, labels: ((.labels | map({name})) + [{name: "needs-owner"}])}' > rows.ndjson
    if [ -s rows.ndjson ]; then opsctl tracker bulk -f rows.ndjson --create-labels -o csv --columns status --no-header | sort | uniq -c; else echo none; fi`;
  const unowned = (await server.ask('GET', '/epics')).body.filter(
    ({ owner_ids, archived }: { owner_ids: string[]; archived: boolean }) =>
      owner_ids.length === 0 && !archived,
  ).length;
  const first = await job(bot);
  expect([first.code, first.stdout.trim().split(/\s+/)]).toEqual([0, [String(unowned), 'done']]);
  const second = await job(bot);
  expect([second.code, second.stdout]).toEqual([0, 'none\n']);
});

test('release notes: finished epics as Markdown, with names as they are; no token in anything that was written', async () => {
  const states = (await server.ask('GET', '/epic-workflow')).body.epic_states;
  const done = states.find(({ type }: { type: string }) => type === 'done').id;
  await server.ask('POST', '/epics', { name: 'Pipes | and `ticks` & "quotes"', epic_state_id: done });
  const notes = `
    {
      echo '# Release'
      opsctl tracker epics list --jq 'map(select(.completed)) | sort_by(.name)[] | "- \\(.name) (#\\(.id))"'
    } > notes.md
    grep -c '^- ' notes.md`;
  const ran = await job(notes);
  expect(ran.code).toBe(0);
  const text = readFileSync(join(home, 'notes.md'), 'utf8');
  expect(text).toMatch(/^- Pipes \| and `ticks` & "quotes" \(#\d+\)$/m);
  expect(text + ran.stdout + ran.stderr).not.toContain(TOKEN);
  const broken = await job(`opsctl tracker epics list --jq '.[] | .name | tonumber' > out.txt`);
  expect([broken.code, broken.stderr]).toEqual([2, expect.stringContaining('cannot be parsed as a number')]);
});

test('a run has a time limit: an endless filter is stopped with a message', async () => {
  const ran = await job(`opsctl tracker labels list --max-time 2s --jq 'def f: f; f'`);
  expect([ran.code, ran.stderr]).toEqual([11, expect.stringContaining('not done within 2 s (--max-time)')]);
});

test('SIGTERM ends a filter', covers('exit/terminated'), async () => {
  const ran = await job(`
    node '${BIN}' tracker labels list --jq 'def f: f; f' & pid=$!
    sleep 2; kill -TERM $pid; wait $pid`);
  expect(ran.code).toBe(143);
});

test('--edit runs any EDITOR, with its words and quotes, also without a terminal', async () => {
  const id = (await server.ask('POST', '/epics', { name: 'Edited', description: 'before' })).body.id;
  const ran = await job(
    `EDITOR="sed -i 's/before/after that/'" opsctl tracker epics update ${id} --edit -o name`,
  );
  expect([ran.code, ran.stdout]).toEqual([0, `${id}\n`]);
  expect((await server.ask('GET', `/epics/${id}`)).body.description).toBe('after that');
});
