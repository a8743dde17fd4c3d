import { expect, test } from 'vitest';
import { WINDOW_MS } from '../../src/api-client/rate.ts';
import type { Target } from '../../src/cli/command.ts';
import { type Pace, makeRateLimited } from '../../src/cli/rate-limited.ts';
import { loadSettings } from '../../src/config/load.ts';
import { fakeHost } from '../support/fake-host.ts';

/** How long three requests take that may be one a minute. */
const threeRequests = async (
  isRateDefault: boolean,
  hasNoLimit: Target['hasNoLimit'],
): Promise<{ readonly ms: number; readonly said: readonly string[] }> => {
  const host = fakeHost({ reply: () => ({ status: 200, body: '[]' }) });
  const said: string[] = [];
  const note = (text: string): void => void said.push(text);
  const pace = {
    host,
    settings: loadSettings(host, {}),
    log: { info: note, warn: note, debug: note, hide: () => {} },
    signal: new AbortController().signal,
    timeoutMs: undefined,
    ratePerMinute: 1,
    isRateDefault,
  } as unknown as Pace;
  const baseUrl = 'http://127.0.0.1:1';
  const send = makeRateLimited(pace)({
    baseUrl,
    headers: {},
    isMock: false,
    origin: 'flag',
    rateKey: 'k',
    hasNoLimit,
  });
  const start = host.now();
  for (let i = 0; i < 3; i++) await send({ method: 'GET', url: `${baseUrl}/labels`, headers: {} });
  return { ms: host.now() - start, said };
};

test('a mock without a limit holds nobody to the default rate', async () => {
  let asked = 0;
  const off = async () => {
    asked += 1;
    return true;
  };
  expect(await threeRequests(true, off)).toEqual({ ms: 0, said: [] });
  expect(asked).toBe(1);
});

test('a server with a limit, and a rate that the user set, are kept to', async () => {
  const waits = [
    'waiting 60 s for the rate limit (1 requests a minute)',
    'waiting 60 s for the rate limit (1 requests a minute)',
  ];
  expect(await threeRequests(true, async () => false)).toEqual({ ms: 2 * WINDOW_MS, said: waits });
  expect((await threeRequests(false, async () => true)).ms).toBe(2 * WINDOW_MS);
});
