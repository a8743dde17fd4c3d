import { expect, test } from 'vitest';
import { ChunkQueue } from '../../src/platform/node/transport.ts';

const begin = () => {
  const told: string[] = [];
  const queue = new ChunkQueue({
    resume: () => void told.push('resume'),
    abort: (why) => void told.push(`abort ${why.message}`),
  });
  return { told, queue, reader: queue.chunks[Symbol.asyncIterator]() };
};
const bytes = (size: number) => new Uint8Array(size);

test('the queue delivers chunks in order, both queued and awaited', async () => {
  const { queue, reader } = begin();
  queue.push(bytes(1));
  const [first, second] = [reader.next(), reader.next()];
  queue.push(bytes(2));
  queue.end();
  expect([(await first).value?.length, (await second).value?.length, (await reader.next()).done]).toEqual([
    1,
    2,
    true,
  ]);
});

test('the queue asks its sender to pause when it is full, and to resume after a read', async () => {
  const { told, queue, reader } = begin();
  expect([queue.push(bytes(40_000)), queue.push(bytes(40_000))]).toEqual([true, false]);
  await reader.next();
  expect(told).toEqual(['resume']);
  await reader.next();
  expect(told).toEqual(['resume']);
});

test('the queue delivers received data before the failure that followed it', async () => {
  const { queue, reader } = begin();
  queue.push(bytes(1));
  queue.fail(new Error('cut'));
  expect((await reader.next()).value?.length).toBe(1);
  await expect(reader.next()).rejects.toThrow('cut');
});

test('a failure reaches a waiting reader, and the end of the queue follows it', async () => {
  const waiting = begin();
  const next = waiting.reader.next();
  waiting.queue.fail(new Error('cut'));
  await expect(next).rejects.toThrow('cut');
  const ended = begin();
  ended.queue.end();
  ended.queue.fail(new Error('late'));
  expect((await ended.reader.next()).done).toBe(true);
});

test('a reader that stops early closes the connection; a reader that reads everything does not', async () => {
  const early = begin();
  early.queue.push(bytes(1));
  await early.reader.return?.();
  expect(early.told).toEqual(['abort closed']);
  const done = begin();
  done.queue.end();
  await done.reader.return?.();
  expect(done.told).toEqual([]);
});
