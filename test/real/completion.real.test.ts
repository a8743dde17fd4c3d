/** Tab completion in real shells, in a directory with files and with two profiles. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { type ShellSession, hasShell, shellSession } from '../support/shell-session.ts';
import { makeDirectory } from '../support/directory.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

let home: Program;
let cwd: string;
beforeAll(async () => {
  home = program();
  cwd = makeDirectory();
  writeFileSync(join(cwd, 'notes.txt'), '');
  writeFileSync(join(cwd, 'cluster.yaml'), '');
  mkdirSync(join(cwd, 'folder'));
  // Two profiles, each with the names that its own commands have stored.
  await home.run(['tracker', 'labels', 'create', '--name', 'two words']);
  await home.run(['tracker', 'stories', 'create', '--name', 'Pay by card', '--project-id', '1', '--dry-run']);
  await home.run(['config', 'set', 'tracker.url', 'https://tracker.example.com', '--profile', 'prod']);
  const server = {
    OPSCTL_AUTH_URL: 'https://accounts.example.com',
    OPSCTL_TOKEN_URL: 'https://oauth2.example.com',
    OPSCTL_API_URL: 'https://api.example.com',
  };
  const stored = ['login', '--token-stdin', '--account', 'only-prod', '--profile', 'prod'];
  await home.run(stored, { input: 'an-access-token\n', env: server });
  mkdirSync(join(home.home, 'cache', 'prod', 'records'), { recursive: true });
  writeFileSync(join(home.home, 'cache', 'prod', 'records', 'label'), `7\t${Date.now()}\tonly-in-prod\n`);
  await home.run(['login', '--scripted', '--account', 'second']);
  await home.run(['login', '--scripted']);
  const old = Date.now() - 8 * 24 * 3_600_000;
  writeFileSync(join(home.home, 'cache', 'prod', 'records', 'epic'), `9\t${old}\ttoo-old\n`);
});

const words = async (...line: string[]): Promise<string[]> =>
  (await home.run(['__complete', ...line])).stdout.split('\n').filter(Boolean);

describe('extensions', () => {
  let bin: string;
  const put = (name: string, text: string, mode = 0o755): void => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(bin, name), mode);
  };
  const onPath = (...directories: string[]): { PATH: string } => ({
    PATH: [...directories, bin, process.env['PATH']].join(delimiter),
  });
  const describe = async (...line: string[]): Promise<string[]> =>
    (await home.run(['__describe', ...line], { env: onPath() })).stdout.split('\n');
  /** As `opsctl __describe`, with a time limit that a busy machine does not reach. */
  const describePatiently = (line: readonly string[], ...directories: string[]): string[] => {
    const dist = fileURLToPath(new URL('../../dist/complete.js', import.meta.url));
    const text = `require(${JSON.stringify(dist)}).complete(${JSON.stringify(line)}, true, undefined, 60_000)`;
    const env = { ...process.env, ...onPath(...directories), OPSCTL_HOME: home.home };
    return execFileSync(process.execPath, ['-e', text], { env, encoding: 'utf8' }).split('\n');
  };
  beforeAll(() => {
    bin = makeDirectory();
    put('opsctl-standup', `touch ${bin}/extension-ran`);
  });
  test('TAB offers the name of an extension, and its own program completes the words behind it', async () => {
    put('opsctl_complete-standup', 'printf "[%s]\\tWords: $#\\n" "$@"; echo --flag; echo :4');
    expect(await describe('stand')).toEqual(['standup\tExtension', ':none', '']);
    expect(describePatiently(['standup', 'two words', ''])).toEqual([
      '[two words]\tWords: 2',
      '[]\tWords: 2',
      ':none',
      '',
    ]);
    expect(describePatiently(['standup', '--f'])).toEqual(['--flag\t', ':none', '']);
    put('opsctl_complete-tracker', `touch ${bin}/replaced`);
    expect(await describe('tracker', 'labels', 'li')).toEqual([
      expect.stringMatching(/^list\t/),
      ':none',
      '',
    ]);
    expect([existsSync(join(bin, 'replaced')), existsSync(join(bin, 'extension-ran'))]).toEqual([
      false,
      false,
    ]);
  });
  test('a description contains no control characters', () => {
    put('opsctl_complete-standup', String.raw`printf 'one\t\033[31mred\007 and\302\233 blue\n'`);
    expect(describePatiently(['standup', ''])).toEqual(['one\t [31mred  and  blue', ':none', '']);
  });
  test('a link without a target hides no other extension', async () => {
    symlinkSync(join(bin, 'missing'), join(bin, 'opsctl-gone'));
    symlinkSync('opsctl-turns', join(bin, 'opsctl-turns'));
    mkdirSync(join(bin, 'opsctl-folder'));
    const names = (await describe('')).map((line) => line.split('\t')[0]);
    expect(names).toContain('standup');
    for (const name of ['gone', 'turns', 'folder']) expect(names).not.toContain(name);
  });
  test.each([
    ['that another user can replace', `touch "$(dirname "$0")/ran"; echo word`, 0o777],
    ['that fails', 'echo word; exit 1', 0o755],
  ])('TAB offers nothing from a program %s', (_, text, mode) => {
    put('opsctl_complete-standup', text, mode);
    expect(describePatiently(['standup', ''])).toEqual([':none', '']);
    expect(existsSync(join(bin, 'ran'))).toBe(false);
  });
  test('TAB judges the program that the system would start, not a file before it', () => {
    const first = makeDirectory();
    writeFileSync(join(first, 'opsctl_complete-standup'), '', { mode: 0o644 });
    put('opsctl_complete-standup', `touch "$(dirname "$0")/ran"; echo word`, 0o777);
    expect(describePatiently(['standup', ''], first)).toEqual([':none', '']);
    expect(existsSync(join(bin, 'ran'))).toBe(false);
    put('opsctl_complete-standup', 'echo word');
    expect(describePatiently(['standup', ''], first)).toEqual(['word\t', ':none', '']);
  });
  test.each([
    ['that does not end', 'echo word; exec sleep 600', 0o755],
    ['that writes without end', 'exec yes word', 0o755],
  ])('TAB offers nothing from a program %s', async (_, text, mode) => {
    put('opsctl_complete-standup', text, mode);
    expect(await describe('standup', '')).toEqual([':none', '']);
  });
});

describe('content of the cache', () => {
  test('every list, create, rename and delete fills it, including in scripts', async () => {
    const get = () => words('tracker', 'labels', 'get', '');
    expect(await get()).toContain('two words');
    await home.run(['tracker', 'labels', 'update', 'two words', '--name', 'renamed']);
    expect(await get()).toContain('renamed');
    expect(await get()).not.toContain('two words');
    await home.run(['tracker', 'labels', 'delete', 'renamed', '--yes']);
    expect(await get()).not.toContain('renamed');
    await home.run(['tracker', 'labels', 'list']);
    expect(await get()).toContain('onboarding');
    await home.run(['tracker', 'labels', 'create', '--name', 'two words']);
  });

  test('ids come with titles, and names with ids', async () => {
    await home.run(['tracker', 'epics', 'list']);
    const { stdout } = await home.run(['__describe', 'tracker', 'epics', 'get', '1']);
    expect(stdout).toMatch(/^1\d\d\t\S.*\n/);
    const labels = await home.run(['__describe', 'tracker', 'labels', 'get', 'onb']);
    expect(labels.stdout).toMatch(/^onboarding\tlabel \d+\n:none\n$/);
  });

  test('the profile of the line decides, and what is too old is not offered', async () => {
    expect(await words('--profile', 'prod', 'tracker', 'labels', 'delete', '')).toEqual(['only-in-prod']);
    expect(await words('tracker', 'labels', 'delete', '--profile=prod', '')).toEqual(['only-in-prod']);
    expect(await words('tracker', 'labels', 'delete', '')).not.toContain('only-in-prod');
    expect(await words('--profile', 'prod', 'tracker', 'epics', 'get', '')).toEqual([]);
    expect(await words('tracker', 'labels', 'list', '--profile', '')).toEqual(['mock', 'prod']);
  });

  test('accounts of the sign-ins, by the profile of the line, without opening the credentials', async () => {
    expect(await words('auth', 'token', '--account', '')).toEqual(['ada@demo.example', 'second']);
    expect(await words('logout', '--account=s')).toEqual(['--account=second']);
    expect(await words('auth', 'switch', 'a')).toEqual(['ada@demo.example']);
    expect(await words('media', 'get', '--profile', 'prod', '--account', '')).toEqual(['only-prod']);
    expect(await words('--profile', 'nobody', 'auth', 'switch', '')).toEqual([]);
    const described = await home.run(['__describe', 'auth', 'switch', 'ada']);
    expect(described.stdout).toBe('ada@demo.example\tThe embedded server\n:none\n');
    const credentials = join(home.home, 'state', 'mock', 'credentials.json');
    const kept = readFileSync(credentials);
    writeFileSync(credentials, 'nothing that can be read');
    expect(await words('auth', 'switch', 's')).toEqual(['second']);
    writeFileSync(credentials, kept);
  });

  test('an account that is signed out is no longer offered', async () => {
    await home.run(['login', '--scripted', '--account', 'third']);
    expect(await words('auth', 'switch', 't')).toEqual(['third']);
    await home.run(['auth', 'logout', '--account', 'third']);
    expect(await words('auth', 'switch', 't')).toEqual([]);
  });

  test('values, columns and topics', async () => {
    expect(await words('tracker', 'stories', 'create', '--story-type', '')).toEqual([
      'feature',
      'bug',
      'chore',
    ]);
    expect(await words('tracker', 'labels', 'list', '--columns', 'id,na')).toEqual(['id,name']);
    expect(await words('help', 'exit')).toEqual(['exit-codes']);
    expect(await words('tracker', 'labels', 'create', '--name', '')).toEqual([]);
  });
});

describe.each(shells)('%s', (shell) => {
  const check = (name: string, body: (at: ShellSession) => Promise<void>): void =>
    test(name, async (context) => {
      if (!hasShell(shell)) {
        if (process.env['OPSCTL_TEST_IN_CI']) throw new Error(`${shell} is not installed`);
        return context.skip(`${shell} is not installed`);
      }
      const session = await shellSession(shell, { home: home.home, cwd });
      try {
        await body(session);
      } finally {
        await session.close();
      }
    });

  check('commands come with what they do, and without files', async ({ type }) => {
    const screen = await type('opsctl tracker labels \t\t', 'Show a label');
    expect(screen).toContain('Change a label');
    expect(screen).not.toContain('notes.txt');
  });

  check('a name with a space goes into the line as one word', async ({ type }) => {
    await type('opsctl tracker labels get tw\t', 'two\\ words');
  });

  check('files where a file is wanted', async ({ type }) => {
    const screen = await type('opsctl kv status --cluster \t\t', 'cluster.yaml');
    expect(screen).toContain('notes.txt');
  });

  check('the profile of the line', async ({ type }) => {
    await type('opsctl --profile prod tracker labels delete o\t', 'only-in-prod');
  });

  check('accounts of the sign-ins', async ({ type }) => {
    await type('opsctl auth switch ada\t', 'switch ada@demo.example');
  });

  check('accounts of the profile of the line', async ({ type }) => {
    await type('opsctl --profile prod auth token --account \t', '--account only-prod');
  });

  check('topics of help', async ({ type }) => {
    await type('opsctl help exit\t', 'help exit-codes');
  });
});

test('a name in quotes that are not closed yet is completed in bash', async (context) => {
  if (!hasShell('bash')) return context.skip('bash is not installed');
  const session = await shellSession('bash', { home: home.home, cwd });
  await session.type('opsctl tracker labels get "tw\t', '"two words"');
  await session.close();
});

test('completion install puts the script where the shell looks', async () => {
  const { stderr } = await home.run(['completion', 'install'], {
    env: { SHELL: '/usr/bin/fish', XDG_CONFIG_HOME: '' },
  });
  const path = join(home.home, '.config', 'fish', 'completions', 'opsctl.fish');
  expect(stderr).toContain(path);
  if (hasShell('fish')) {
    const session = await shellSession('fish', { home: home.home, cwd });
    await session.type('opsctl tracker labels \t', 'Show a label');
    await session.close();
  }
  expect((await home.run(['completion', 'install'], { env: { SHELL: '/bin/ksh' } })).code).toBe(2);
});

/** Names of a service, each with a start that only it has and an end that the screen shows. */
const hostile = [
  ...['q0$(touch RAN)end0', 'q1`touch RAN`end1', "q2';touch RAN;'end2", 'q3";touch RAN;"end3'],
  ...['q4;touch RAN;end4', 'q5!!end5', 'q6\\end6', 'q7 two  $HOME end7', 'q8&&touch RAN&&end8', 'q9\'"end9'],
];
/** Answers TAB as the program, and writes the words of other calls to a file. */
const recorder = (at: Program, directory: string): void => {
  const own = readFileSync(join(at.home, 'bin', 'opsctl'), 'utf8').split('\n')[1];
  const text = `#!/bin/sh\ncase $1 in __*) ${own};; esac\nprintf '%s\\n' "$@" > ${directory}/words.new\nmv ${directory}/words.new ${directory}/words\n`;
  writeFileSync(join(at.home, 'bin', 'opsctl.new'), text, { mode: 0o755 });
  renameSync(join(at.home, 'bin', 'opsctl.new'), join(at.home, 'bin', 'opsctl'));
};
describe.each(shells)('%s behind an open quote', (shell) => {
  test.each([
    ['a double quote', '"'],
    ['a single quote', "'"],
    ['no quote', ''],
  ])('TAB inserts a hostile name as one literal word behind %s', async (_, quote) => {
    if (!hasShell(shell)) return;
    const directory = makeDirectory();
    const own = program();
    const cache = join(own.home, 'cache', 'hostile', 'records');
    mkdirSync(cache, { recursive: true });
    writeFileSync(join(cache, 'label'), hostile.map((name, i) => `${i}\t${Date.now()}\t${name}\n`).join(''));
    const session = await shellSession(shell, { home: own.home, cwd: directory });
    recorder(own, directory);
    const read: string[] = [];
    for (const [i] of hostile.entries()) {
      rmSync(join(directory, 'words'), { force: true });
      await session.type(
        `opsctl --profile hostile tracker labels get ${quote}q${i}\t`,
        new RegExp(`end${i}`),
      );
      await session.type('\r', /ready%%\s*$/);
      const words = readFileSync(join(directory, 'words'), 'utf8').split('\n');
      read.push(words.slice(5, -1).join('\n').trimEnd());
    }
    await session.close();
    await own.close();
    expect(existsSync(join(directory, 'RAN'))).toBe(false);
    expect(read).toEqual(hostile);
  });
});
