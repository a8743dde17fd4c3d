/** A check ends a command before its next output, question or request, and a held lock file can be given up. */
import { describe, expect, test } from 'vitest';
import { changeLock, LOCK_FILE } from '../../src/labels/lock-file.ts';
import { thisProcess } from '../../src/platform/file-lock.ts';
import { AppError } from '../../src/core/problem.ts';
import { fakeHost } from '../support/fake-host.ts';
import { labelsInMemory } from '../support/in-memory.ts';
import { contextWith } from '../support/context.ts';

const terminal = { tty: ['stdin', 'stderr'] } as const;
const two = 'title: A\nfields: [{name: Note, type: text}, {name: Gone, type: text}]\n';
const one = 'title: A\nfields: [{name: Note, type: text}]\n';
const published = async () => {
  const at = labelsInMemory({ 'labels/a.yaml': two });
  expect((await at.run(['apply', '-f', 'labels', '--publish', '--yes'])).code).toBe(0);
  return at;
};

describe('a definition that the service would reject', () => {
  test('is reported without a question about the losses of another label', async () => {
    const at = await published();
    await at.write('labels/a.yaml', one);
    await at.write('labels/b.yaml', `title: ${'b'.repeat(101)}\n`);
    const ran = await at.run(['apply', '-f', 'labels', '--prune', '-o', 'json'], {
      ...terminal,
      answers: [true],
    });
    expect([ran.code, ran.asked, ran.writes]).toEqual([10, [], []]);
    expect(ran.error()).toMatchObject({ code: 'PLAN_REFUSED' });
  });
});

describe('a plan that the service would reject now', () => {
  test('is reported without a question about its losses', async () => {
    const at = await published();
    await at.write('labels/a.yaml', one);
    const plan = ['plan', '-f', 'labels', '--prune', '--out', 'plan.json'];
    expect((await at.run(plan)).code).toBe(0);
    const apply = ['apply', '--plan', 'plan.json', '--prune', '-o', 'json'];
    const rejected = await at.run(apply, {
      ...{ ...terminal, answers: [true] },
      meanwhile: ({ path }) =>
        path.includes('/locks') ? { status: 200, json: { labelLocks: [{ name: 'locks/1' }] } } : undefined,
    });
    expect([rejected.code, rejected.asked, rejected.writes]).toEqual([10, [], []]);
    expect(rejected.error()).toMatchObject({ code: 'PLAN_REFUSED' });
    const accepted = await at.run(apply, { ...terminal, answers: [true] });
    expect([accepted.code, accepted.asked.length]).toEqual([0, 1]);
  });
});

describe('a label that must not change', () => {
  test('a locked label is not deleted, and its losses are neither shown nor confirmed', async () => {
    const at = await published();
    const ran = await at.run(['retire', 'A'], {
      ...{ ...terminal, answers: ['A'] },
      meanwhile: ({ path }) =>
        path.includes('/locks') ? { status: 200, json: { labelLocks: [{ name: 'locks/1' }] } } : undefined,
    });
    expect([ran.code === 0, ran.asked, ran.writes]).toEqual([false, [], []]);
    expect(ran.err).not.toContain('the values of field Note');
  });
  test('a disabled label is not published, and its changes are not shown', async () => {
    const at = await published();
    at.send('POST', `/labels/${at.id('A')}:disable`, {});
    at.edit('A', { description: 'newer' });
    const ran = await at.run(['publish', 'A'], { ...terminal, answers: [true] });
    expect([ran.code, ran.asked, ran.writes]).toEqual([10, [], []]);
    expect(ran.err).not.toContain('will be published');
  });
});

describe('a lock file that another command holds', () => {
  test('is written as soon as the other command has released it', async () => {
    const host = fakeHost();
    const file = `/work/.${LOCK_FILE}.held`;
    const holder = { ...thisProcess(host), machine: 'elsewhere', nonce: 'other' };
    await host.files.replace(file, JSON.stringify(holder), 0o600);
    const sleep = async (ms: number): Promise<void> => {
      await host.sleep(ms);
      if (host.slept.length === 3) await host.files.remove(file);
    };
    const waiting = contextWith({ host: { ...host, sleep }, signal: new AbortController().signal });
    await changeLock(waiting, '/work', () => ({ labels: { a: { deployments: {} } } }));
    expect([host.slept, await host.files.list('/work')]).toEqual([[50, 50, 50], [LOCK_FILE]]);
  });
  test('the wait ends with the interruption, and the lock of the other command stays', async () => {
    const stop = new AbortController();
    const host = fakeHost();
    const file = `/work/.${LOCK_FILE}.held`;
    const holder = { ...thisProcess(host), machine: 'elsewhere', nonce: 'other' };
    await host.files.replace(file, JSON.stringify(holder), 0o600);
    let sleeps = 0;
    const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
      sleeps += 1;
      if (sleeps === 3) stop.abort(new AppError('interrupted', 'Ctrl-C'));
      await host.sleep(ms, signal);
    };
    const waiting = contextWith({ host: { ...host, sleep }, signal: stop.signal });
    await expect(changeLock(waiting, '/work', (lock) => lock)).rejects.toMatchObject({
      category: 'interrupted',
    });
    expect(sleeps).toBe(3);
    expect(host.files.readNow(file)).toContain('"other"');
  });
});
