import { beforeEach, describe, expect, it } from 'vitest';
import { Store } from '../../src/mock-server/store.ts';
import { faultDelayMs, makeFaults } from '../../src/mock-server/faults.ts';
import { type Small, smallMock } from '../support/small-mock.ts';

const faultsWith = (chance: () => number) => makeFaults(new Store(), chance);
const strikes = (faults: ReturnType<typeof makeFaults>, times: number): boolean[] =>
  Array.from({ length: times }, () => faults.meet('GET', '/a') !== undefined);

describe('a fault', () => {
  it('lets the first requests pass, then meets its count', () => {
    const faults = faultsWith(() => 0);
    faults.add({ status: 500, skip: 2, count: 1 });
    expect(strikes(faults, 5)).toEqual([false, false, true, false, false]);
  });
  it('meets its percentage of requests', () => {
    const chances = [0.04, 0.05, 0.9, 0.049];
    const faults = faultsWith(() => chances.shift() ?? 1);
    faults.add({ status: 500, percent: 5 });
    expect(strikes(faults, 4)).toEqual([true, false, false, true]);
  });
  it('a fault that lets a request pass leaves it to the next fault', () => {
    const faults = faultsWith(() => 0);
    faults.add({ status: 500, skip: 1 });
    faults.add({ status: 503 });
    expect([faults.meet('GET', '/a')?.status, faults.meet('GET', '/a')?.status]).toEqual([503, 500]);
  });
  it('waits between its delay and its maximum', () => {
    const fault = { id: 1, hits: 0, delay_ms: 100, delay_max_ms: 300 };
    expect([0, 0.5, 0.999].map((chance) => faultDelayMs(fault, () => chance))).toEqual([100, 200, 300]);
    expect(faultDelayMs({ id: 1, hits: 0 }, () => 1)).toBe(0);
  });
});

describe('over the control interface', () => {
  let small: Small;
  beforeEach(async () => {
    small = await smallMock();
  });

  it('a profile replaces all faults, or none of them', async () => {
    await small.ask('POST', '/__opsctl/faults', { status: 500 });
    const wrong = await small.ask('PUT', '/__opsctl/faults', [{ status: 503 }, { status: 42 }]);
    expect(wrong.status).toBe(400);
    expect((await small.ask('GET', '/__opsctl/faults')).body).toMatchObject([{ status: 500 }]);
    await small.ask('PUT', '/__opsctl/faults', [
      { status: 503, skip: 1 },
      { cut: true, count: 1 },
    ]);
    expect((await small.ask('GET', '/__opsctl/faults')).body).toMatchObject([{ status: 503 }, { cut: true }]);
  });
  it('a throttled body arrives whole, in slices', async () => {
    const text = 'x'.repeat(250);
    await small.ask('POST', '/notes', text);
    await small.ask('POST', '/__opsctl/faults', { path: '/notes', bytes_per_second: 2000 });
    const reply = await small.machine.host.network.request({
      method: 'GET',
      url: `${small.mock.origin}/notes`,
    });
    const sizes: number[] = [];
    for await (const chunk of reply.stream()) sizes.push(chunk.length);
    const length = sizes.reduce((sum, size) => sum + size, 0);
    expect(length).toBe(Number(reply.headers['content-length']));
    expect(length).toBeGreaterThan(250);
    expect(sizes.length).toBeGreaterThan(1);
  });
  it('a snapshot brings the records back and leaves clock and faults alone', async () => {
    await small.ask('POST', '/notes', 'one');
    expect((await small.ask('PUT', '/__opsctl/snapshots/a')).body).toMatchObject({ name: 'a' });
    await small.ask('POST', '/notes', 'two');
    await small.ask('POST', '/__opsctl/faults', { path: '/none', status: 500 });
    await small.ask('POST', '/__opsctl/snapshots/a/restore');
    const texts = (await small.ask('GET', '/notes')).body.map(({ text }: { text: string }) => text);
    expect(texts).toEqual(['one']);
    expect((await small.ask('GET', '/__opsctl/faults')).body).toHaveLength(1);
    await small.ask('POST', '/__opsctl/reset', { kind: 'empty' });
    expect((await small.ask('GET', '/__opsctl/snapshots')).body).toMatchObject([{ name: 'a' }]);
    expect((await small.ask('DELETE', '/__opsctl/snapshots/a')).status).toBe(204);
    expect((await small.ask('POST', '/__opsctl/snapshots/a/restore')).status).toBe(404);
  });
});
