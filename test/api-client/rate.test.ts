import fc from 'fast-check';
import { expect, test } from 'vitest';
import { WINDOW_MS, grantedAt, makeBucket, parseTickets, type Ticket } from '../../src/api-client/rate.ts';
import { fakeHost } from '../support/fake-host.ts';

test('torn and foreign lines are left out', () => {
  expect(parseTickets('t 5 a\nb 9\nt x y\nt 7\nnonsense\nt 8 c\n')).toEqual([
    { id: 'a', atMs: 5 },
    { blockedUntilMs: 9 },
    { id: 'c', atMs: 8 },
  ]);
});

test('the place in the file decides: the fourth of three waits for the first to leave the window', () => {
  const tickets: Ticket[] = ['a', 'b', 'c', 'd', 'e'].map((id, i) => ({ id, atMs: i * 10 }));
  expect(tickets.map((ticket) => ('id' in ticket ? grantedAt(tickets, ticket.id, 3) : 0))).toEqual([
    0,
    10,
    20,
    WINDOW_MS,
    WINDOW_MS + 10,
  ]);
});

test('a refusal of the service holds everybody back who comes after it', () => {
  const tickets: Ticket[] = [{ id: 'a', atMs: 0 }, { blockedUntilMs: 30_000 }, { id: 'b', atMs: 5 }];
  expect([grantedAt(tickets, 'a', 9), grantedAt(tickets, 'b', 9)]).toEqual([0, 30_000]);
});

test('a service without a limit lets everybody pass for a time', () => {
  const tickets: Ticket[] = [
    { id: 'a', atMs: 0 },
    { id: 'b', atMs: 1 },
    { openUntilMs: 1000 },
    { id: 'c', atMs: 2 },
    { id: 'd', atMs: 3 },
    { id: 'e', atMs: 1000 },
    { id: 'f', atMs: 1001 },
  ];
  expect(['b', 'c', 'd', 'e', 'f'].map((id) => grantedAt(tickets, id, 1))).toEqual([
    WINDOW_MS,
    2,
    3,
    2 * WINDOW_MS,
    3 * WINDOW_MS,
  ]);
});

test('never more than the limit in any window, whatever the arrivals', () => {
  const arrivals = fc.array(fc.integer({ min: 0, max: 200_000 }), { maxLength: 60 });
  fc.assert(
    fc.property(arrivals, fc.integer({ min: 1, max: 7 }), (times, limit) => {
      const tickets = times.map((atMs, i) => ({ id: `${i}`, atMs }));
      const grants = tickets
        .map(({ id }) => grantedAt(tickets, id, limit) ?? Number.NaN)
        .sort((a, b) => a - b);
      return (
        grants.every((at, i) => i < limit || at - (grants[i - limit] ?? 0) >= WINDOW_MS) &&
        tickets.every(({ id, atMs }) => (grantedAt(tickets, id, limit) ?? -1) >= atMs)
      );
    }),
  );
});

test('a bucket in a directory: the third request of two a minute waits for the rest of the minute', async () => {
  const host = fakeHost();
  const bucket = makeBucket(host, '/state', 'k', 2);
  const waits: number[] = [];
  const start = host.now();
  for (let i = 0; i < 3; i++) await bucket.admit((ms) => waits.push(ms));
  expect(waits).toEqual([WINDOW_MS]);
  expect(host.now() - start).toBe(WINDOW_MS);
});
