import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { startWriting } from './simulated.ts';

it('a write that an election rejects many times is repeated until a leader accepts it', async () => {
  let rejections = 40;
  let accepted = 0;
  const server = createServer((_, reply) => {
    rejections -= 1;
    if (rejections >= 0) reply.writeHead(503);
    else accepted += 1;
    reply.end('{"error":"etcdserver: no leader"}');
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', () => done()));
  const writing = startWriting([`http://127.0.0.1:${(server.address() as AddressInfo).port}`]);
  try {
    await expect.poll(() => accepted).toBeGreaterThan(0);
    const { failed, acknowledged } = await writing.stop();
    expect([failed, acknowledged.length > 0]).toEqual([0, true]);
  } finally {
    server.close();
  }
});
