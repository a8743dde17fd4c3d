import { expect, test } from 'vitest';
import { lockMachine } from '../../../src/kv/engine/locks.ts';
import { realHost } from '../../support/real-host.ts';

const held = { run: 'run-1', owner: 'ada', since: '2026-01-01T00:00:00Z' } as never;

test('an empty lock of a killed command is awaited and replaced', async () => {
  const { host, directory, close } = await realHost();
  const path = `${directory}/shop/lock`;
  await host.files.makeDirectory(`${directory}/shop`, 0o700);
  // The file was created, but the process was killed before it wrote its name.
  await host.files.create(path, '', 0o600);
  const lock = await lockMachine(host, directory, 'shop', held);
  expect(host.files.readNow(path)).toContain('run-1');
  await lock.release();
  expect(host.files.readNow(path)).toBeUndefined();
  await close();
});

test('a replacement that was killed before its claim was written is awaited and repeated', async () => {
  const { host, directory, close } = await realHost();
  const path = `${directory}/shop/lock`;
  await host.files.makeDirectory(`${directory}/shop`, 0o700);
  // No process has this number.
  const gone = {
    pid: 2 ** 30,
    machine: host.hostname,
    ...host.processes.scope(),
    nonce: 'gone',
    sinceMs: host.now(),
  };
  await host.files.create(path, JSON.stringify(gone), 0o600);
  await host.files.create(`${path}.claim-gone`, '', 0o600);
  const lock = await lockMachine(host, directory, 'shop', held);
  expect(host.files.readNow(path)).toContain('run-1');
  await lock.release();
  await close();
});

test('a lock of a running process is rejected immediately', async () => {
  const { host, directory, close } = await realHost();
  const lock = await lockMachine(host, directory, 'shop', held);
  expect(((await host.files.info(`${directory}/shop`))?.mode ?? 0) & 0o777).toBe(0o700);
  await expect(lockMachine(host, directory, 'shop', held)).rejects.toMatchObject({ category: 'unsafe' });
  await lock.release();
  await close();
});

test('a directory that other users can change gets no lock', async () => {
  const { host, directory, close } = await realHost();
  await host.files.makeDirectory(`${directory}/shop`, 0o700);
  await host.files.setMode(`${directory}/shop`, 0o777);
  await expect(lockMachine(host, directory, 'shop', held)).rejects.toMatchObject({
    detail: { code: 'UNTRUSTED' },
  });
  expect(host.files.readNow(`${directory}/shop/lock`)).toBeUndefined();
  await close();
});
