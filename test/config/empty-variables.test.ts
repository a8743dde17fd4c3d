import { describe, expect, test } from 'vitest';
import { loadSettings } from '../../src/config/load.ts';
import { resolveTarget } from '../../src/config/resolve-target.ts';
import { fakeHost } from '../support/fake-host.ts';
import { trackerInMemory } from '../support/in-memory.ts';

const home = { HOME: '/home/user', OPSCTL_HOME: '/home/user/opsctl' };
const target = (env: Record<string, string>, service: 'tracker' | 'labels' | 'auth' | 'api', flags = {}) =>
  resolveTarget(loadSettings(fakeHost({ env: { ...home, ...env } }), flags), service);

describe('a variable that is set but empty', () => {
  const cases = [
    ['OPSCTL_TRACKER_URL', 'tracker'],
    ['OPSCTL_TRACKER_TOKEN', 'tracker'],
    ['OPSCTL_LABELS_URL', 'labels'],
    ['OPSCTL_LABELS_TOKEN', 'labels'],
    ['OPSCTL_PROFILE', 'tracker'],
    ['OPSCTL_MOCK', 'labels'],
  ] as const;
  test.each(cases)('%s is a configuration error', (variable, service) => {
    for (const value of ['', ' ', '\n'])
      expect(() => target({ [variable]: value }, service)).toThrow(
        expect.objectContaining({ category: 'config', message: expect.stringContaining(variable) }),
      );
    expect(target({}, service)).toEqual({ kind: 'mock' });
  });
  test('an empty variable is not an error if a flag sets the value', () => {
    const flags = { 'tracker.url': 'https://tracker.example', 'tracker.token': 't' };
    expect(target({ OPSCTL_TRACKER_URL: '' }, 'tracker', flags)).toMatchObject({ kind: 'configured' });
  });
});

test('a list with another number of rows than its total, or with a repeated ID, is an error', async () => {
  const epic = (id: number) => ({ id, name: `E${id}`, entity_type: 'epic', archived: false, labels: [] });
  const at = trackerInMemory();
  const list = (...pages: object[]) => {
    let page = 0;
    return at.run(['epics', 'paginated', '-o', 'json'], {
      meanwhile: () => ({ status: 200, json: pages[page++] }),
    });
  };
  const codeOf = async (...pages: object[]) => {
    const ran = await list(...pages);
    return [ran.code, ran.code === 0 ? undefined : ran.error().code];
  };
  expect(await codeOf({ data: [epic(1)], next: null, total: 25 })).toEqual([11, 'LIST_CHANGED']);
  expect(
    await codeOf({ data: [epic(1), epic(2)], next: 2, total: 3 }, { data: [epic(2)], next: null, total: 3 }),
  ).toEqual([11, 'LIST_CHANGED']);
  expect(
    await codeOf({ data: [epic(1)], next: 2, total: 2 }, { data: [epic(2)], next: null, total: 2 }),
  ).toEqual([0, undefined]);
});

test('a change of an unnamed mock server is rejected if CI is set', async () => {
  const { runProgram } = await import('../../src/cli/run.ts');
  const { program } = await import('../../src/commands/program.ts');
  const run = async (argv: string[], env: Record<string, string>) => {
    const host = fakeHost({ env: { ...home, ...env } });
    return [await runProgram(host, argv, program), host.err()];
  };
  const create = ['tracker', 'labels', 'create', '--name', 'x'];
  expect(await run(create, { CI: '1' })).toEqual([3, expect.stringContaining('no changes were made')]);
  expect((await run(create, { CI: '1', OPSCTL_TRACKER_URL: '', OPSCTL_TRACKER_TOKEN: '' }))[0]).toBe(3);
  expect((await run(create, { CI: '1', OPSCTL_PROFILE: 'mock' }))[0]).not.toBe(3);
  expect((await run(['tracker', 'labels', 'list'], { CI: '1' }))[0]).not.toBe(3);
});
