import { describe, expect, test } from 'vitest';
import { send } from '../../src/api/send.ts';
import { type HttpRequest, NetworkError } from '../../src/platform/host.ts';
import { type FakeHostOptions, fakeHost } from '../support/fake-host.ts';
import { naming } from '../support/facts.ts';

const get: HttpRequest = { method: 'GET', url: 'https://t.example/a?token=x' };
const post: HttpRequest = { ...get, method: 'POST', body: '{}' };
const answering = (
  ...answers: (number | [number, Record<string, string>] | NetworkError)[]
): FakeHostOptions['reply'] => {
  return (_, count) => {
    const answer = answers[Math.min(count, answers.length) - 1] ?? 200;
    if (answer instanceof Error) throw answer;
    return typeof answer === 'number' ? { status: answer } : { status: answer[0], headers: answer[1] };
  };
};
const lost = (code: NetworkError['code'], sent: boolean) => new NetworkError(code, `${code} happened`, sent);

test('a response is returned immediately', async () => {
  const host = fakeHost({ reply: answering(201) });
  expect((await send(host, post)).status).toBe(201);
  expect(host.requests).toHaveLength(1);
  expect(host.slept).toEqual([]);
});

test('429 with Retry-After waits for that time, then repeats the request', async () => {
  const host = fakeHost({ reply: answering([429, { 'retry-after': '7' }], 201) });
  expect((await send(host, post)).status).toBe(201);
  expect(host.slept).toEqual([7000]);
  expect(host.requests[1]).toEqual(host.requests[0]);
});

test('clients that failed together come back at different times', async () => {
  const waits = [0, 64, 255].map(async (byte) => {
    const random = (size: number) => new Uint8Array(size).fill(byte);
    const host = Object.assign(fakeHost({ reply: answering(503, 200) }), { random });
    await send(host, get);
    return host.slept;
  });
  expect(await Promise.all(waits)).toEqual([[100], [150], [299.21875]]);
});

test('429 without it waits in the window of a minute', async () => {
  const host = fakeHost({ reply: answering(429, 429, 200) });
  expect((await send(host, post)).status).toBe(200);
  expect(host.slept[0]).toBeGreaterThanOrEqual(15_000);
  expect(host.slept[1]).toBeGreaterThanOrEqual(30_000);
});

test('the last response is returned after all attempts failed', async () => {
  const host = fakeHost({ reply: answering(503) });
  expect((await send(host, get)).status).toBe(503);
  expect(host.requests).toHaveLength(4);
});

test('a write is not repeated after 5xx or when it may have arrived', async () => {
  const after503 = fakeHost({ reply: answering(503) });
  expect((await send(after503, post)).status).toBe(503);
  expect(after503.requests).toHaveLength(1);
  const cut = fakeHost({ reply: answering(lost('RESET', true)) });
  await expect(send(cut, post)).rejects.toMatchObject({ category: 'network', detail: { code: 'RESET' } });
  expect(cut.requests).toHaveLength(1);
});

test('a write that provably never left is repeated, a read in any case', async () => {
  for (const request of [post, get]) {
    const host = fakeHost({ reply: answering(lost('REFUSED', false), 200) });
    expect((await send(host, request)).status).toBe(200);
  }
  const host = fakeHost({ reply: answering(lost('TIMEOUT', true), 200) });
  expect((await send(host, get)).status).toBe(200);
});

test('a body that is a stream is sent once', async () => {
  async function* body() {
    yield Buffer.from('x');
  }
  const host = fakeHost({ reply: answering([429, { 'retry-after': '1' }]) });
  expect((await send(host, { ...post, body: body() })).status).toBe(429);
  expect(host.requests).toHaveLength(1);
});

describe('errors', () => {
  test.each<[NetworkError['code'], string, number]>([
    ['TLS', 'ca_file', 1],
    ['PROXY', 'NO_PROXY', 1],
    ['DNS', 'host name', 4],
    ['REFUSED', 'port', 4],
    ['TIMEOUT', '--timeout', 4],
  ])('%s suggests %s, after %i attempts', async (code, hint, tries) => {
    const host = fakeHost({ reply: answering(lost(code, false)) });
    const error = await send(host, get).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      category: 'network',
      detail: { code, tryThis: [expect.stringContaining(hint)] },
    });
    expect(host.requests).toHaveLength(tries);
    expect(String(error)).not.toContain('token=x');
  });

  test('a cancelled request is interrupted, without another try', async () => {
    const controller = new AbortController();
    const host = fakeHost({
      reply: () => {
        controller.abort(new Error('stop'));
        throw lost('ABORTED', true);
      },
    });
    await expect(send(host, get, { signal: controller.signal })).rejects.toMatchObject({
      category: 'interrupted',
    });
    expect(host.requests).toHaveLength(1);
  });

  test('Ctrl-C ends a wait between two tries', async () => {
    const controller = new AbortController();
    const host = fakeHost({ reply: answering(503) });
    const sending = send(host, get, {
      signal: controller.signal,
      onRetry: () => controller.abort(new Error('stop')),
    });
    await expect(sending).rejects.toThrow('stop');
    expect(host.requests).toHaveLength(1);
  });
});

test('each attempt is announced and requests a place in the rate window', async () => {
  const host = fakeHost({ reply: answering([503, { 'retry-after': '2' }], lost('RESET', true), 200) });
  const said: [number, string][] = [];
  const ends: string[] = [];
  let admitted = 0;
  const admit = async () => {
    admitted++;
    return (end: string) => void ends.push(end);
  };
  await send(host, get, { onRetry: (delayMs, why) => said.push([delayMs, why]), admit });
  expect(said[0]).toEqual([2000, naming('503')]);
  expect(said[1]?.[1]).toBe('RESET happened');
  expect([admitted, ends]).toEqual([3, ['answered', 'lost', 'answered']]);
});

test('an unsent request is reported to the rate window', async () => {
  const ends: string[] = [];
  const admit = async () => (end: string) => void ends.push(end);
  await send(fakeHost({ reply: answering(lost('REFUSED', false), 200) }), get, { admit });
  expect(ends).toEqual(['unsent', 'answered']);
});

describe('a response from 400 on is checked for a retry, lower statuses are not', () => {
  test.each([
    [399, 1],
    [400, 1],
    [503, 4],
  ])('status %i is requested %i times', async (status, tries) => {
    const host = fakeHost({ reply: answering([status, { 'retry-after': '1' }]) });
    expect((await send(host, get)).status).toBe(status);
    expect(host.requests).toHaveLength(tries);
  });
});

test('a request that was canceled before its first response is not retried after any failure', async () => {
  const controller = new AbortController();
  const reply: FakeHostOptions['reply'] = () => {
    controller.abort(new Error('stop'));
    throw lost('REFUSED', false);
  };
  const host = fakeHost({ reply });
  await expect(send(host, get, { signal: controller.signal })).rejects.toMatchObject({
    category: 'network',
    detail: { code: 'REFUSED' },
  });
  expect(host.requests).toHaveLength(1);
});

test('a stream is sent once even if it cannot have arrived; a text is sent again', async () => {
  const body = (async function* () {
    yield Buffer.from('x');
  })();
  const once = fakeHost({ reply: answering(lost('REFUSED', false), 200) });
  await expect(send(once, { ...post, body })).rejects.toMatchObject({ detail: { code: 'REFUSED' } });
  const again = fakeHost({ reply: answering(lost('REFUSED', false), 200) });
  expect((await send(again, { ...post, body: Buffer.from('x') })).status).toBe(200);
});

test('an error names the host once, is worth another try unless the certificate is wrong, and has no hint where none helps', async () => {
  const errorOf = async (error: NetworkError) =>
    send(fakeHost({ reply: answering(error) }), get).catch((thrown: unknown) => thrown);
  expect(await errorOf(new NetworkError('RESET', 'cut', true))).toMatchObject({
    message: 't.example: cut',
    detail: { retryable: true, tryThis: [] },
  });
  expect(await errorOf(new NetworkError('TLS', 'no trust in t.example', false))).toMatchObject({
    message: 'no trust in t.example',
    detail: { retryable: false },
  });
  const speaksNoTls = new NetworkError('TLS', 'wrong version', false, undefined, {
    kind: 'protocol',
    reason: 'no TLS',
  });
  expect(await errorOf(speaksNoTls)).toMatchObject({ detail: { tryThis: [] } });
});

test('the rest of a response is read before the next attempt, so that its connection is free', async () => {
  const host = fakeHost({ reply: answering([503, { 'retry-after': '1' }], 200) });
  let read = 0;
  const { request } = host.network;
  const network = {
    ...host.network,
    request: async (asked: HttpRequest) => {
      const reply = await request(asked);
      const bytes = async () => {
        read += 1;
        return reply.bytes();
      };
      return { ...reply, bytes };
    },
  };
  expect((await send({ ...host, network }, get)).status).toBe(200);
  expect(read).toBe(1);
});

test('an error that is not a network failure is rethrown unchanged', async () => {
  const host = fakeHost();
  const broken = {
    ...host,
    network: { ...host.network, request: async () => Promise.reject(new TypeError('bug')) },
  };
  await expect(send(broken, get)).rejects.toThrow(new TypeError('bug'));
});
