import { expect, test } from 'vitest';
import { limits } from '../../src/core/limits.ts';
import { awaitBody } from '../../src/mock-server/server.ts';
import type { Bytes, Incoming } from '../../src/platform/host.ts';
import { fakeHost } from '../support/fake-host.ts';
import { pause } from '../support/slow-host.ts';
import { covers } from '../support/covers.ts';

/** Creates a request whose body arrives in these pieces; `between` runs after each piece. */
const coming = (pieces: readonly Bytes[], between: () => void = () => {}): Incoming =>
  ({
    async receive(_: number, take: (chunk: Bytes) => void) {
      for (const piece of pieces) {
        take(piece);
        between();
        await Promise.resolve();
      }
    },
  }) as Partial<Incoming> as Incoming;
const filled = (size: number, value: number): Bytes => new Uint8Array(size).fill(value);
const n = limits.arrivingBytes;

test.each([
  ['nothing', []],
  ['a little', [filled(3, 1), filled(4, 2)]],
  ['as much as is held: n bytes', [filled(n - 1, 1), filled(1, 2)]],
  ['one byte more: n + 1', [filled(n, 1), filled(1, 2)]],
  ['more in one piece', [filled(n * 2, 7)]],
  ['more in many pieces', [filled(n, 1), filled(n, 2), filled(n, 3)]],
])('%s is received as it was sent', covers('limit/arrivingBytes'), async (_, pieces) => {
  const body = await awaitBody(fakeHost(), coming(pieces), Number.POSITIVE_INFINITY);
  if (body === 'disk full') throw new Error(body);
  expect(body.sizeBytes).toBe(Buffer.concat(pieces).length);
  expect(Buffer.compare(body.read(), Buffer.concat(pieces))).toBe(0);
  body.close();
});

test.each([
  [n, 0],
  [n + 1, 1],
])('a body of %i bytes creates %i file, private and unlinked', async (size, count) => {
  const host = fakeHost();
  const made: number[] = [];
  const { append } = host.files;
  host.files.append = (path, mode) => {
    made.push(mode ?? 0);
    return append(path, mode);
  };
  const body = await awaitBody(host, coming([filled(size, 1)]), Number.POSITIVE_INFINITY);
  if (body === 'disk full') throw new Error(body);
  expect(made).toEqual(Array(count).fill(0o600));
  expect(await host.files.list(host.files.temporaryDirectory())).toEqual([]);
  expect(body.read().length).toBe(size);
});

test('a body is received when its file has no name, so nothing stays behind', async () => {
  const host = fakeHost();
  const { remove } = host.files;
  host.files.remove = async (path) => {
    await pause(20);
    await remove(path);
  };
  await awaitBody(host, coming([filled(n + 1, 1)]), Number.POSITIVE_INFINITY);
  expect(await host.files.list(host.files.temporaryDirectory())).toEqual([]);
});

test('a full disk is reported, other failures are thrown, and both files are closed', async () => {
  for (const [code, outcome] of [
    ['ENOSPC', 'disk full'],
    ['EIO', 'thrown'],
  ]) {
    const host = fakeHost();
    const closed: string[] = [];
    const { append, openParts } = host.files;
    host.files.append = (path, mode) => ({
      ...append(path, mode),
      write: () => {
        throw Object.assign(new Error(code), { code });
      },
      close: () => closed.push('written'),
    });
    host.files.openParts = (path) => {
      const parts = openParts(path);
      return parts && { ...parts, close: () => closed.push('read') };
    };
    const told = await awaitBody(host, coming([filled(n + 1, 1)]), Number.POSITIVE_INFINITY).catch(
      () => 'thrown',
    );
    expect(told).toBe(outcome);
    expect(closed.sort()).toEqual(['read', 'written']);
  }
});
