/** Misuse never succeeds: any command with an unknown flag exits with code 2 and leaves stdout empty. */
import { beforeAll, expect, test } from 'vitest';
import { groups } from '../../src/commands/program.ts';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

let home = '';
beforeAll(() => {
  home = makeDirectory();
});

const isRefused = async (argv: readonly string[]): Promise<string | undefined> => {
  const { code, stdout, stderr } = await opsctl(argv, { home });
  return code === 2 && stdout === '' && /unknown flag|not a known flag/.test(stderr)
    ? undefined
    : `opsctl ${argv.join(' ')}: ${code} ${JSON.stringify((stdout + stderr).slice(0, 200))}`;
};

test('an unknown flag before, between or after the words of any command is refused', async () => {
  const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
  const lines = commands.flatMap(({ path }) => [
    ['--profle', 'x', ...path],
    ...path.slice(1).map((_, i) => [...path.slice(0, i + 1), '--nosuch', ...path.slice(i + 1)]),
    [...path, '--nosuch'],
    [...path, '--nosuch=1', '--help'],
  ]);
  const green = (await Promise.all(lines.map(isRefused))).filter((found) => found !== undefined);
  expect(lines.length).toBeGreaterThan(1000);
  expect(green).toEqual([]);
});

test.each([
  '-x',
  '--versoin',
  '--version --foo',
  '--quite tracker labels list',
  'help --foo',
  '-ojson --foo',
])('opsctl %s is refused', async (line) => {
  expect(await isRefused(line.split(' '))).toBeUndefined();
});

test.each(['-o json', '--quiet', '--columns', 'tracker -o json', 'tracker labels --profile x'])(
  'flags without a command have no effect and cause an error: %s',
  async (line) => {
    const { code, stdout, stderr } = await opsctl(line.split(' '), { home });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('<command>');
  },
);

test.each([
  ['tracker stories list --state Done', 'workflow-state'],
  ['tracker stories update 107 --status Done', 'workflow-state'],
  ['tracker epics create --status x', 'epic-state'],
  ['tracker stories create --assignee ben', 'owner'],
  ['tracker stories create --title x', 'name'],
  ['tracker documents create --summary x', 'title'],
  ['tracker stories mine --owners x', undefined],
  ['tracker stories mine --state x', undefined],
])('a flag of another program leads to the flag that the command has: %s', async (line, flag) => {
  const { code, stderr } = await opsctl(line.split(' '), { home });
  expect([code, /did you mean --([\w-]+)/.exec(stderr.replace(/\s+/g, ' '))?.[1]]).toEqual([2, flag]);
});

test.each([
  ['tracker stories 107', 'opsctl tracker stories get 107'],
  ['tracker labels 107', 'opsctl tracker labels get 107'],
  ['labels 107', 'opsctl labels get 107'],
  ['kv 107', 'opsctl kv --help'],
  ['config 107', 'opsctl config --help'],
  ['media 107', 'opsctl media --help'],
  ['mock 107', 'opsctl mock --help'],
  ['mock oauth clients 107', 'opsctl mock oauth clients --help'],
  ['labels capabilities 107', 'opsctl labels capabilities --help'],
  ['tracker documents 107', 'opsctl tracker documents --help'],
  ['tracker epic-workflow 107', 'opsctl tracker epic-workflow --help'],
  ['tracker story-tasks 107', 'opsctl tracker story-tasks --help'],
])('an ID in place of a command leads to the record if the group has one: %s', async (line, hint) => {
  const { code, stderr } = await opsctl(line.split(' '), { home });
  expect([code, stderr]).toEqual([2, expect.stringContaining(`try: ${hint}\n`)]);
});

test('an error shows the position of a flag that precedes its command', async () => {
  const { code, stderr } = await opsctl(['tracker', '--name', 'x', 'labels', 'create'], { home });
  expect(code).toBe(2);
  expect(stderr).toContain('try: opsctl tracker labels create --name …');
});

test.each<[string, string]>([
  ['--version', ''],
  ['-V', ''],
  ['--version -o json', ''],
  ['help', 'Usage'],
  ['--help', 'Usage'],
  ['tracker', 'Usage'],
  ['tracker labels --help', 'Usage'],
  ['help tracker labels', 'Usage'],
])('help and version stay green: %s', async (line, text) => {
  const { code, stdout } = await opsctl(line.split(' '), { home });
  expect(code).toBe(0);
  expect(stdout).toContain(text);
});

test.each([
  ['tracker iterations create --name x --start-date 2026-13-01 --end-date 2026-12-14', '2026-13-01'],
  ['kv wait --for good --endpoints 127.0.0.1:1', 'good'],
  ['login --issuer not-a-url', 'not-a-url'],
  ['mock seed nofile.json', 'nofile.json'],
])('an error shows the rejected value once: %s', async (line, value) => {
  const { code, stderr } = await opsctl(line.split(' '), { home });
  expect([code, stderr.split(value).length - 1]).toEqual([2, 1]);
});

// Each address and each token below has a part that no output may repeat.
test.each([
  'login --client-id x --issuer https://ada:hunter2secret@idp.example?x=1',
  'login --client-id x --issuer https://idp.example/?access_token=hunter2secret',
  'login --client-id x --issuer http://ada:hunter2secret@idp.example',
  'login --client-id x --issuer ada:hunter2secret@idp.example',
  'login --client-id x --issuer https://ada:hunter2/secret@idp.example',
  'login --client-id x --issuer https://ada:hunter2#p@secret@idp.example',
  'login --client-id x --auth-url ftp://ada:hunter2secret@idp.example/a',
  'login --client-id x --auth-url https://idp.example/a --token-url ftp://ada:hunter2secret@idp.example',
  'api tracker GET /member --tracker-url ftp://ada:hunter2secret@api.example',
  'api tracker GET /member --tracker-url http://api.example/?token=hunter2secret',
  'api tracker GET /member --tracker-url ada:hunter2secret@api.example',
  'config set tracker.url https://ada:hunter2/secret@api.example',
  'tracker linked-files create --name x --type storage_a --url ftp://ada:hunter2secret@files.example',
  'tracker linked-files create --name x --type storage_a --url ada:hunter2secret@files.example',
  'tracker webhooks create --webhook-url ftp://ada:hunter2secret@hook.example',
  'mock record --upstream ftp://ada:hunter2secret@api.example --out c.jsonl',
  'kv status --endpoints ftp://ada:hunter2secret@127.0.0.1:1',
])('an error never repeats the secret of an address: %s', async (line) => {
  for (const more of [[], ['-o', 'json'], ['--debug']]) {
    const { code, stdout, stderr } = await opsctl([...line.split(' '), ...more], { home });
    expect(code).not.toBe(0);
    expect(`${stdout}${stderr}`).not.toMatch(/hunter2|secret@/);
  }
});

test.each([
  ['Authorization Bearer hunter2secret'],
  ['Authorization Bearer hunter2secret=='],
  ['hunter2secret'],
])('an error never repeats the value of a header: %s', async (header) => {
  const { code, stderr } = await opsctl(['api', 'tracker', 'GET', '/member', '--header', header], { home });
  expect([code, stderr]).toEqual([2, expect.not.stringContaining('hunter2')]);
});

test('an unknown column leads to the columns, and to the number of those that are not listed', async () => {
  const { code, stderr } = await opsctl(['tracker', 'stories', 'get', '107', '--columns', 'nosuch'], {
    home,
  });
  expect([code, stderr]).toEqual([2, expect.stringMatching(/it has app_url, .* and \d+ more/)]);
});
