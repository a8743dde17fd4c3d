import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { crashText } from '../../src/crash.ts';
import { type Program, program } from '../support/built-program.ts';
import { covers } from '../support/covers.ts';

let home: Program;
beforeEach(() => {
  home = program();
});
/** A service account whose token URL has no server. Its sign-in has no prompt. */
const ci = {
  OPSCTL_TOKEN_URL: 'http://127.0.0.1:1/token',
  OPSCTL_CLIENT_ID: 'client',
  OPSCTL_AUDIENCE: 'https://audience.example',
};
const long = `SEKRET${'a'.repeat(30_000)}`;

describe('a secret that is too long to be one', () => {
  it.each<[string, string[], number, Record<string, string>]>([
    [
      'in the environment',
      ['tracker', 'members', 'me'],
      3,
      { OPSCTL_TRACKER_TOKEN: long, OPSCTL_TRACKER_URL: 'http://127.0.0.1:1' },
    ],
    [
      'as a password',
      [
        'kv',
        'member',
        'list',
        '--endpoints',
        'http://127.0.0.1:1',
        '--user',
        'root',
        '--password-file',
        'pw',
      ],
      3,
      {},
    ],
    ['of a webhook', ['tracker', 'webhooks', 'listen', '--secret-file', 'pw'], 2, {}],
    [
      'of a webhook, in the environment',
      ['tracker', 'webhooks', 'listen'],
      3,
      { OPSCTL_WEBHOOK_SECRET: long },
    ],
    [
      'as an identity token',
      ['auth', 'token'],
      3,
      { ...ci, OPSCTL_IDENTITY_TOKEN_FILE: 'pw', OPSCTL_AUTH_METHOD: 'token-exchange' },
    ],
    [
      'as what a command prints for one',
      ['auth', 'token'],
      3,
      { ...ci, OPSCTL_IDENTITY_TOKEN_COMMAND: 'cat pw', OPSCTL_AUTH_METHOD: 'token-exchange' },
    ],
    [
      'as a private key',
      ['auth', 'token'],
      3,
      { ...ci, OPSCTL_CLIENT_KEY: 'pw', OPSCTL_AUTH_METHOD: 'client-credentials' },
    ],
  ])(
    'a secret that is too long is rejected by name without being shown: %s',
    covers('defect/D1-2'),
    async (_, args, code, env) => {
      writeFileSync(join(home.home, 'pw'), long);
      const ended = await home.run(args, { env });
      expect([ended.code, ended.stdout]).toEqual([code, '']);
      expect(ended.stderr).toMatch(/has 30006 bytes; a secret has at most 8192/);
      expect(ended.stderr).not.toContain('SEKRET');
    },
  );
  it('a secret that is too long is not stored', async () => {
    const ended = await home.run(['config', 'set', 'tracker.token', '--stdin', '--profile', 'big'], {
      input: long,
    });
    expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining('at most 8192')]);
  });
  it(
    'a secret that is too long, stored by an earlier version, can be removed',
    covers('defect/D1-4', 'defect/R-2'),
    async () => {
      await home.run(['config', 'set', 'tracker.token', 'short-token-1', '--profile', 'big', '--yes']);
      await home.run(['config', 'set', 'tracker.token', '--stdin', '--profile', 'big'], {
        input: 'short-token-1',
      });
      const file = readdirSync(home.home, { recursive: true, encoding: 'utf8' })
        .map((name) => join(home.home, name))
        .find((path) => statSync(path).isFile() && readFileSync(path, 'utf8').includes('short-token-1'));
      expect(file).toBeDefined();
      writeFileSync(file ?? '', readFileSync(file ?? '', 'utf8').replace('short-token-1', long));
      const used = await home.run(['tracker', 'labels', 'list', '--profile', 'big']);
      expect([used.code, used.stderr.includes('SEKRET')]).toEqual([3, false]);
      expect((await home.run(['config', 'unset', 'tracker.token', '--profile', 'big'])).code).toBe(0);
      expect(readFileSync(file ?? '', 'utf8')).not.toContain('SEKRET');
    },
  );
});

describe('an unforeseen error', () => {
  it('an unforeseen error is reported by its kind and its positions, because its message may quote a secret', () => {
    const error = new TypeError(`cannot read ${long}\nof SEKRET`);
    const text = crashText(error);
    expect(text).toMatch(/^TypeError\n\s+at /);
    expect(text).not.toContain('SEKRET');
    expect(crashText(new Error('one\n    at SEKRET (file:1:2)'))).not.toContain('SEKRET');
    expect(crashText('SEKRET')).toBe('a thrown string\n');
  });
  it('prints one line and leaves a report that only its owner can read', covers('defect/D1-5'), async () => {
    // A test cannot create a directory at the path of the program's chunk from outside, so a preload calls the handler.
    const preload = join(home.home, 'throws.mjs');
    writeFileSync(
      preload,
      `const fail = () => { if (process.listenerCount('uncaughtException') > 0) throw new RangeError('SEKRET in a message'); setTimeout(fail, 5); };
setTimeout(fail, 5);`,
    );
    mkdirSync(join(home.home, 'state'), { recursive: true });
    const ended = await home.run(['mock', 'serve', '--ephemeral', '-o', 'json'], {
      env: { NODE_OPTIONS: `--import=${preload}` },
    });
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/opsctl: internal error \(RangeError\); see .*crash-.*\.txt\n$/);
    expect(ended.stderr).not.toContain('SEKRET');
    const directory = join(home.home, 'state', 'crashes');
    const [name = ''] = readdirSync(directory);
    expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(directory, name), 'utf8')).not.toContain('SEKRET');
  });
});
