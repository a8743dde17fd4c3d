import { afterEach, expect, test } from 'vitest';
import { freePorts } from '../../src/platform/node/free-ports.ts';
import { type RealHost, realHost } from '../support/real-host.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});
const machine = async (): Promise<RealHost['host']> => {
  const real = await realHost();
  open.push(real);
  return real.host;
};

test('ports are different, free, and none that an outgoing connection could get', async () => {
  const { network } = await machine();
  const ports = await network.freePorts(40);
  expect(new Set(ports).size).toBe(40);
  for (const port of ports) {
    expect(port).toBeGreaterThanOrEqual(10_240);
    expect(port).toBeLessThan(32_240);
    open.push(await network.listen(() => ({ status: 200 }), { host: '127.0.0.1', port }));
  }
});

test('a port that somebody has is passed over', async () => {
  const { network } = await machine();
  const [taken, other] = (await network.freePorts(2)) as [number, number];
  open.push(await network.listen(() => ({ status: 200 }), { host: '127.0.0.1', port: taken }));
  const picked = [taken, taken, other];
  expect(await freePorts(1, () => picked.shift() as number)).toEqual([other]);
});

test('when there is none the reason is said', async () => {
  const { network } = await machine();
  const [taken] = (await network.freePorts(1)) as [number];
  open.push(await network.listen(() => ({ status: 200 }), { host: '127.0.0.1', port: taken }));
  await expect(freePorts(1, () => taken)).rejects.toMatchObject({ code: 'EADDRINUSE' });
});
