import { describe, expect, test } from 'vitest';
import { limits } from '../../src/core/limits.ts';
import { type Outcome, retryAfterMs, retryDelay } from '../../src/api/send.ts';
import { covers } from '../support/covers.ts';

const now = Date.UTC(2026, 0, 2, 3, 4, 5);
const delay = (method: string, outcome: Outcome, tries = 1): number | undefined =>
  retryDelay(method, tries, outcome, { nowMs: now, jitter: () => 0.5 });
const reply = (status: number, retryAfter?: string): Outcome => ({ kind: 'reply', status, retryAfter });
const failed = (sent: boolean): Outcome => ({ kind: 'failed', sent });

describe('repeatable requests', () => {
  test.each<[string, Outcome, boolean]>([
    ['GET', reply(429), true],
    ['POST', reply(429), true],
    ['DELETE', reply(429), true],
    ['GET', reply(500), true],
    ['GET', reply(502), true],
    ['GET', reply(503), true],
    ['GET', reply(504), true],
    ['HEAD', reply(503), true],
    ['GET', reply(501), false],
    ['POST', reply(500), false],
    ['POST', reply(503), false],
    ['PUT', reply(503), false],
    ['PATCH', reply(502), false],
    ['DELETE', reply(503), false],
    ['GET', reply(200), false],
    ['GET', reply(404), false],
    ['GET', reply(422), false],
    ['GET', failed(true), true],
    ['GET', failed(false), true],
    ['POST', failed(false), true],
    ['POST', failed(true), false],
    ['PUT', failed(true), false],
    ['DELETE', failed(true), false],
  ])('%s after %j: %s', (method, outcome, expected) => {
    expect(delay(method, outcome) !== undefined).toBe(expected);
  });

  test('retries stop at a maximum', () => {
    expect(delay('GET', reply(503), 3)).toBeGreaterThan(0);
    for (const outcome of [reply(503), reply(429), reply(429, '1'), failed(false)])
      expect(delay('GET', outcome, 4)).toBeUndefined();
  });
});

describe('how long', () => {
  test('each wait is twice as long as the previous one', () => {
    expect([1, 2, 3].map((tries) => delay('GET', reply(503), tries))).toEqual([200, 400, 800]);
  });

  test.each<[string, number]>([
    ['0', 0],
    ['7', 7000],
    [' 7 ', 7000],
    ['Fri, 02 Jan 2026 03:04:35 GMT', 30_000],
    ['Fri, 02 Jan 2026 03:04:00 GMT', 0],
  ])('Retry-After %s is taken at its word', (header, expected) => {
    expect(retryAfterMs(header, now)).toBe(expected);
    expect(delay('POST', reply(429, header))).toBe(expected);
    expect(delay('GET', reply(503, header))).toBe(expected);
  });

  test('an invalid header is ignored', () => {
    expect(retryAfterMs('soon', now)).toBeUndefined();
    expect(delay('GET', reply(503, 'soon'))).toBe(200);
  });

  // spec/tracker#errors-4: 200 requests a minute.
  test('429 without the header waits for places in the window, at last for the whole of it', () => {
    expect([1, 2, 3].map((tries) => delay('POST', reply(429), tries))).toEqual([15_500, 30_500, 60_500]);
  });
});

test(
  'a pause that the service asks for is kept up to the limit, and not waited for beyond it',
  covers('defect/D11-3', 'limit/retryAfterMs'),
  () => {
    const seconds = limits.retryAfterMs / 1000;
    for (const status of [429, 503]) {
      expect(delay('GET', reply(status, String(seconds)))).toBe(limits.retryAfterMs);
      expect(delay('GET', reply(status, String(seconds + 1)))).toBeUndefined();
      expect(delay('GET', reply(status, '9'.repeat(400)))).toBeUndefined();
    }
  },
);
