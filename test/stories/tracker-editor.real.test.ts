import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { Host } from '../../src/platform/host.ts';
import { type Ran, opsctl } from '../support/program.ts';
import { TOKEN, type TrackerServer, startTracker } from '../support/tracker-server.ts';
import { covers } from '../support/covers.ts';
import { makeDirectory } from '../support/directory.ts';

let server: TrackerServer;
let home: string;
beforeAll(async () => {
  server = await startTracker();
  home = makeDirectory();
});

const atTerminal = (host: Host): Host => ({
  ...host,
  terminal: {
    ...host.terminal,
    stdin: { ...host.terminal.stdin, isTty: true },
    stderr: { ...host.terminal.stderr, isTty: true },
  },
});
/** An editor of one line of shell; `$1` is the file. */
const editor = (script: string): string => {
  const path = join(home, 'editor.sh');
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
};
const run = (
  argv: readonly string[],
  script: string,
  command = editor(script),
  host = atTerminal,
  variable: 'EDITOR' | 'VISUAL' = 'EDITOR',
): Promise<Ran> =>
  opsctl(['tracker', ...argv, '-o', 'json'], {
    home,
    host,
    env: {
      OPSCTL_TRACKER_URL: new URL(server.base).origin,
      OPSCTL_TRACKER_TOKEN: TOKEN,
      OPSCTL_RATE_PER_MINUTE: 'off',
      CI: undefined,
      // VISUAL comes first.
      EDITOR: 'opsctl-other-editor',
      [variable]: command,
    },
  });
const newEpic = async (description: string): Promise<number> =>
  (await server.ask('POST', '/epics', { name: 'Edited', description })).body.id;
const description = async (id: number): Promise<string> =>
  (await server.ask('GET', `/epics/${id}`)).body.description;

test('--edit starts with the current text, and sends the saved text', async () => {
  const id = await newEpic('First line\nsecond line');
  const ran = await run(
    ['epics', 'update', String(id), '--edit'],
    `cp "$1" ${home}/seen.md; echo third line >> "$1"`,
  );
  expect(ran.code).toBe(0);
  expect(readFileSync(join(home, 'seen.md'), 'utf8')).toBe('First line\nsecond line\n');
  expect(await description(id)).toBe('First line\nsecond line\nthird line');
});

test('an editor without a change sends no request', async () => {
  const id = await newEpic('Precious');
  const before = (await server.ask('GET', `/epics/${id}`)).body.updated_at;
  const ran = await run(['epics', 'update', String(id), '--edit'], 'true');
  expect([ran.code, ran.stderr]).toEqual([0, expect.stringContaining('the description was not edited')]);
  expect([await description(id), (await server.ask('GET', `/epics/${id}`)).body.updated_at]).toEqual([
    'Precious',
    before,
  ]);
});

test('another flag is sent without the unchanged text, and a name selects the record', async () => {
  const id = await newEpic('Kept');
  await server.ask('PUT', `/epics/${id}`, { name: 'Named for the editor' });
  const ran = await run(['epics', 'update', 'Named for the editor', '--name', 'Renamed', '--edit'], 'true');
  expect([ran.code, ran.json()]).toEqual([
    0,
    expect.objectContaining({ id, name: 'Renamed', description: 'Kept' }),
  ]);
});

test('an emptied text empties the field; a text from a flag is what the editor starts with', async () => {
  const id = await newEpic('Away with it');
  expect((await run(['epics', 'update', String(id), '--edit'], ': > "$1"')).code).toBe(0);
  expect(await description(id)).toBe('');
  expect(
    (await run(['epics', 'update', String(id), '--description', 'from the flag', '--edit'], 'true')).code,
  ).toBe(0);
  expect(await description(id)).toBe('from the flag');
});

test('the text is kept when the service rejects it', async () => {
  const ran = await run(
    ['epics', 'create', '--name', 'x', '--epic-state-id', '999999', '--edit'],
    'echo an hour of work > "$1"',
  );
  expect(ran.code).toBe(5);
  const path =
    /your text is kept; send it with --description-file (\S+)/
      .exec(JSON.stringify(ran.stderr))?.[1]
      ?.replace(/[\\"].*/, '') ?? '';
  expect(readFileSync(path, 'utf8')).toBe('an hour of work\n');
  rmSync(join(path, '..'), { recursive: true });
});

/** A machine whose terminal closes while the editor is open: opsctl receives the signal before the editor ends. */
const atClosingTerminal = (host: Host): Host => {
  let listener: Parameters<Host['onSignal']>[0] = () => undefined;
  return {
    ...atTerminal(host),
    onSignal: (given) => {
      listener = given;
      return host.onSignal(given);
    },
    sleep: async () => undefined,
    processes: {
      ...host.processes,
      run: async (...call) => {
        listener('SIGHUP');
        return host.processes.run(...call);
      },
    },
  };
};
test.each([
  ['ends with success', 'exit 0'],
  ['fails', 'exit 1'],
  ['is ended by the signal', 'kill -HUP $$'],
])(
  'a terminal that closes while the editor %s: no request, and the next editor names the kept text',
  async (_, end) => {
    const id = await newEpic('Safe');
    const argv = ['epics', 'update', String(id), '--edit'];
    const script = `echo "$1" > ${home}/where; echo an hour of work > "$1"; ${end}`;
    const ran = await run(argv, script, undefined, atClosingTerminal);
    const [path = ''] = /\/\S+\/kept-texts\/[\w-]+\.md/.exec(ran.stderr) ?? [];
    expect([ran.code, readFileSync(path, 'utf8')]).toEqual([143, 'an hour of work\n']);
    expect(existsSync(readFileSync(join(home, 'where'), 'utf8').trim())).toBe(false);
    expect(await description(id)).toBe('Safe');
    expect((await run(argv, 'true')).stderr).toContain(dirname(path));
    rmSync(path);
    expect((await run(argv, 'true')).stderr).not.toContain('kept-texts');
  },
);

test('an editor that saves after the signal has ended its shell loses no text', async () => {
  const id = await newEpic('Safe');
  let saveLate = (): void => undefined;
  const host = (given: Host): Host => {
    const closing = atClosingTerminal(given);
    return {
      ...closing,
      sleep: async () => {
        saveLate();
        return undefined;
      },
    };
  };
  saveLate = () => writeFileSync(readFileSync(join(home, 'where'), 'utf8').trim(), 'saved late');
  const argv = ['epics', 'update', String(id), '--edit'];
  const ran = await run(argv, `echo "$1" > ${home}/where; kill -HUP $$`, undefined, host);
  const [path = ''] = /\/\S+\/kept-texts\/[\w-]+\.md/.exec(ran.stderr) ?? [];
  expect([ran.code, readFileSync(path, 'utf8')]).toEqual([143, 'saved late']);
  rmSync(path);
});

test('a dry run shows the edited text and leaves no file behind', async () => {
  const id = await newEpic('Dry');
  const ran = await run(
    ['epics', 'update', String(id), '--edit', '--dry-run'],
    `echo "$1" > ${home}/where; echo wet > "$1"`,
  );
  expect([ran.code, ran.json().body]).toEqual([0, { description: 'wet' }]);
  expect(existsSync(readFileSync(join(home, 'where'), 'utf8').trim())).toBe(false);
  expect(await description(id)).toBe('Dry');
});

test('a failing editor sends no request', async () => {
  const id = await newEpic('Safe');
  const ran = await run(['epics', 'update', String(id), '--edit'], 'echo gone > "$1"; exit 3');
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringMatching(/no request was sent[\s\S]*kept-texts/)]);
  rmSync(join(home, 'state'), { recursive: true });
  expect(await description(id)).toBe('Safe');
});

test(
  'EDITOR may contain quotes, a path with spaces and arguments, as for git',
  covers('defect/S4-10', 'defect/R-22'),
  async () => {
    const id = await newEpic('First');
    const path = join(home, 'my editor.sh');
    writeFileSync(path, '#!/bin/sh\necho "$1 $2" > "$3"\n', { mode: 0o755 });
    const ran = await run(['epics', 'update', String(id), '--edit'], '', `"${path}" --wait 'two words'`);
    expect([ran.code, await description(id)]).toEqual([0, '--wait two words']);
  },
);

test('an editor that cannot be started or that fails names its cause', async () => {
  const argv = ['epics', 'update', String(await newEpic('Safe')), '--edit'];
  const path = join(home, 'my other editor.sh');
  writeFileSync(path, '#!/bin/sh\nexit 0\n', { mode: 0o755 });
  const hintOf = async (command: string, variable?: 'VISUAL'): Promise<string> => {
    const ran = await run(argv, '', command, undefined, variable);
    expect(ran.code).toBe(2);
    return ran.stderr;
  };
  expect(await hintOf(`${path} --wait`)).toContain(`EDITOR='\\"${path}\\" --wait'`);
  expect(await hintOf(path)).toContain(`EDITOR='\\"${path}\\"'`);
  expect(await hintOf('opsctl-no-such-editor --wait')).toContain('set EDITOR to an editor that is installed');
  expect(await hintOf('opsctl-no-such-editor', 'VISUAL')).toContain('set VISUAL to an editor');
  expect(await hintOf(path, 'VISUAL')).toMatch(/splits VISUAL at spaces: VISUAL='/);
  const failing = await hintOf('false');
  expect([failing.includes('installed'), failing.includes('quote')]).toEqual([false, false]);
});
