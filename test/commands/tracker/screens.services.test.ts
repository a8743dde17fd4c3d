import { beforeAll, describe, expect, test } from 'vitest';
import { ageText } from '../../../src/tracker/screens.ts';
import { type Ran, opsctl } from '../../support/program.ts';
import { TOKEN, type TrackerServer, startTracker } from '../../support/tracker-server.ts';
import { makeDirectory } from '../../support/directory.ts';

let server: TrackerServer;
let home: string;
beforeAll(async () => {
  server = await startTracker();
  home = makeDirectory();
  await server.ask('POST', '/stories/107/comments', { text: 'The form is on the test server.' });
});
const run = (...argv: string[]): Promise<Ran> => {
  const env = {
    OPSCTL_TRACKER_URL: new URL(server.base).origin,
    OPSCTL_TRACKER_TOKEN: TOKEN,
    OPSCTL_RATE_PER_MINUTE: 'off',
  };
  return opsctl(['tracker', ...argv], { home, env });
};
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}/;

describe('a record on a screen', () => {
  test('a story has names, its tasks, comments and links, and no internal id', async () => {
    const { stdout } = await run('stories', 'get', '107', '-o', 'table');
    for (const text of [
      '#107 Sign-up form with three fields',
      'Feature · In Progress · 4 points',
      'Ben Okafor (@ben)',
      'Sign-up in five minutes',
      'Sprint 1',
      '[x] Draw the form',
      '[ ] Build the form',
      'The form is on the test server.',
      'https://docs.example.com/sign-up',
    ])
      expect(stdout).toContain(text);
    expect(stdout).not.toMatch(UUID);
    expect(stdout).not.toContain('{');
  });

  test('--all-fields and -o json have every id', async () => {
    const all = (await run('stories', 'get', '107', '-o', 'table', '--all-fields')).stdout;
    expect(all).toMatch(/^workflow_state_id +12$/m);
    expect(all).toMatch(/^tasks\.0\.description +Draw the form$/m);
    expect((await run('stories', 'get', '107', '-o', 'json')).json()).toMatchObject({
      workflow_state_id: 12,
    });
  });

  test.each([
    ['epics', 'get', '106'],
    ['iterations', 'get', '104'],
    ['objectives', 'get', '102'],
    ['workflows', 'get', '1'],
  ])('%s get has no braces and no UUID', async (...words) => {
    const { stdout, code } = await run(...words, '-o', 'table');
    expect(code).toBe(0);
    expect(stdout).not.toMatch(/[{}[\]]/);
    expect(stdout).not.toMatch(UUID);
  });
});

describe('a list on a screen', () => {
  test.each([[['stories', 'search']], [['epics', 'stories', '106']]])(
    '%s has names in place of ids',
    async (words) => {
      const { stdout } = await run(...words, '-o', 'table');
      expect(stdout.split('\n')[0]).toMatch(/^ID +NAME +STATE +OWNER +ESTIMATE +UPDATED$/);
      expect(stdout).toMatch(/107 .*In Progress +ben/);
    },
  );

  test('names cost one request per kind, not one per row, and none for data formats', async () => {
    for (let i = 0; i < 5; i++)
      await server.ask('POST', '/stories', { name: `more ${i}`, workflow_state_id: 11 });
    const urls = async (format: string): Promise<number> => {
      const { stderr } = await run('stories', 'search', '-o', format, '-v');
      return stderr.split('\n').filter((line) => /^GET /.test(line)).length;
    };
    expect(await urls('json')).toBe(0);
    expect(await urls('table')).toBeLessThanOrEqual(2);
  });

  test('-o wide adds columns', async () => {
    const { stdout } = await run('stories', 'search', '-o', 'wide');
    expect(stdout.split('\n')[0]).toMatch(/TYPE +EPIC +ITERATION/);
    expect(stdout).toContain('Sign-up in five minutes');
  });
});

describe('the history of a story', () => {
  test('shows who changed what, with names in place of IDs', async () => {
    await server.ask('PUT', '/stories/107', { workflow_state_id: 13, owner_ids: [] });
    const { stdout } = await run('stories', 'history', '107', '-o', 'wide');
    const last = stdout.trimEnd().split('\n').at(-1);
    expect(last).toContain('Ana Ortiz');
    expect(last).toMatch(/state: In Progress → \w+/);
    expect(last).toContain('owner: - Ben Okafor (@ben)');
    expect(stdout).not.toMatch(UUID);
    expect(stdout).not.toContain('13');
    const rows = (await run('stories', 'history', '107', '-o', 'json')).json() as { actions: unknown[] }[];
    expect(rows.at(-1)?.actions).toHaveLength(1);
  });
});

test('a document shows its text once, below its facts', async () => {
  const { stdout } = await run('documents', 'get', '88888888-0000-4000-8000-000000000001', '-o', 'table');
  expect(stdout.split('\n')[0]).toBe('Release checklist');
  expect(stdout.match(/# After/g)).toHaveLength(1);
  expect(stdout.trimEnd().split('\n').at(-1)).toBe('# After');
});

test('an age is the largest whole unit, and the day for old or future moments', () => {
  const now = Date.parse('2026-03-31T12:00:00Z');
  expect(ageText('2026-03-31T11:59:30Z', now)).toBe('now');
  expect(ageText('2026-03-31T11:00:00Z', now)).toBe('1 hour ago');
  expect(ageText('2026-03-29T11:00:00Z', now)).toBe('2 days ago');
  expect(ageText('2025-03-29T11:00:00Z', now)).toBe('2025-03-29');
  expect(ageText('2026-04-02T11:00:00Z', now)).toBe('2026-04-02');
});
