import { expect, test } from 'vitest';
import {
  defaultOptions,
  makeEnvironment,
  type MockReply,
  type MockRequest,
} from '../../../src/mock-server/service-set.ts';
import { Store } from '../../../src/mock-server/store.ts';
import { makeTracker } from '../../../src/mock-server/tracker/service.ts';
import { fakeHost } from '../../support/fake-host.ts';

const at = (origin: string, ratePerMinute?: number) => {
  const host = fakeHost();
  const store = new Store();
  const { env, clock, listensAt } = makeEnvironment(
    host,
    store,
    { ...defaultOptions, ratePerMinute, trackerToken: 't' },
    'seed',
  );
  listensAt(origin);
  const service = makeTracker(env);
  store.transact(() => service.seed('demo'));
  const ask = (more: Partial<MockRequest> = {}): MockReply =>
    service.handle({
      method: 'GET',
      path: '/api/v3/member',
      query: '',
      headers: { 'tracker-token': 't' },
      body: new Uint8Array(),
      remoteAddress: '127.0.0.1',
      isTls: false,
      ...more,
    }) as MockReply;
  return { ask, host, clock, service };
};

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

test('an HTTPS server rejects a plain request before its token is read', () => {
  const { ask } = at('https://127.0.0.1:1');
  expect(ask({ isTls: true }).status).toBe(200);
  expect([ask().status, ask({ headers: {} }).status]).toEqual([403, 403]);
  expect(at('http://127.0.0.1:1').ask().status).toBe(200);
});

test('the minute of the rate limit continues while the mock clock is frozen', () => {
  const { ask, host, clock } = at('http://127.0.0.1:1', 1);
  clock.set(Date.parse('2026-01-01T00:00:00Z'), true);
  expect([ask().status, ask().status]).toEqual([200, 429]);
  host.advance(60_000);
  expect(ask().status).toBe(200);
  expect(ask().status).toBe(429);
});

test('the service owns exactly the paths below /api/v3', () => {
  const { service } = at('http://127.0.0.1:1');
  expect(
    ['/api/v3/labels', '/api/v3', '/api/v30/labels', '/api/v2/labels', '/'].map((path) => service.owns(path)),
  ).toEqual([true, true, false, false, false]);
});

test('the iteration of the demo starts two days ago and ends in eleven days', () => {
  const { ask, clock } = at('http://127.0.0.1:1');
  const [{ start_date, end_date }] = JSON.parse(String(ask({ path: '/api/v3/iterations' }).body));
  const days = [start_date, end_date].map(
    (day) => (Date.parse(day) - Date.parse(dayOf(clock.now()))) / 86_400_000,
  );
  expect(days).toEqual([-2, 11]);
});
