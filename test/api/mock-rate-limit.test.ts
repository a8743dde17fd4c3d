import { expect, test } from 'vitest';
import { type ContextOptions, makeContext } from '../../src/api/calls.ts';
import { fakeHost } from '../support/fake-host.ts';

const warningsOf = async (isMock: boolean): Promise<string[]> => {
  const said: string[] = [];
  const host = fakeHost({ reply: (_, count) => ({ status: count < 3 ? 429 : 200 }) });
  const log = { info: () => {}, warnOnce: (_: string, text: string) => said.push(text) };
  const target = { baseUrl: 'http://127.0.0.1:1', headers: {}, isMock, origin: 'mock' };
  const options = { host, log, signal: new AbortController().signal, reach: async () => target };
  const context = makeContext(options as unknown as ContextOptions);
  const reply = await context.send('tracker', { method: 'GET', path: '/labels', headers: {} });
  expect(reply.status).toBe(200);
  return said;
};
test('opsctl explains the rate limit of the mock server, and names the flag that removes it', async () => {
  expect((await warningsOf(true)).join('\n')).toContain('opsctl mock start --rate-limit off');
  expect(await warningsOf(false)).toEqual([]);
});
