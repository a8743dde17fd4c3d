import { describe, expect, it } from 'vitest';
import { isOwnUnlimitedMock } from '../../../src/commands/mock/embedded.ts';
import { type Ready, readyIn } from '../../../src/commands/mock/start.ts';
import { stopCommand } from '../../../src/commands/mock/serve.ts';
import type { Settings } from '../../../src/config/settings.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { naming } from '../../support/facts.ts';
import { contextWith, partlyMade } from '../../support/context.ts';

const url = 'http://127.0.0.1:1';
const ready: Ready = {
  ready: true,
  pid: 1,
  tracker: { base_url: url, token: 't', rate_limit: 'off' },
  labels: { base_url: url, token: 'l' },
  auth: { authorization_endpoint: url, token_endpoint: url, revocation_endpoint: url, client_id: 'c' },
  media: { base_url: url },
  url,
};

describe('mock stop', () => {
  it('returns when the server has let go of its state: the next one may start there', async () => {
    const asked: string[] = [];
    const host = fakeHost({
      reply: ({ method, url: at }) => {
        asked.push(`${method} ${at}`);
        return { status: 204 };
      },
    });
    const path = '/state/mock/owner.json';
    const lock = { pid: host.pid, machine: host.hostname, ...host.processes.scope(), nonce: 'n', sinceMs: 0 };
    await host.files.replace(path, JSON.stringify({ ...lock, what: 'mock serve', server: { url, ready } }));
    let looks = 0;
    const sleep = async (): Promise<void> => {
      looks += 1;
      if (looks === 3) await host.files.remove(path);
    };
    const context = contextWith({
      host: { ...host, sleep },
      settings: { directories: { state: '/state' } },
      log: { info: () => {}, warn: () => {} },
      signal: new AbortController().signal,
    });
    const result = await stopCommand.run(context, {});
    expect(asked).toEqual([`POST ${url}/__opsctl/shutdown`]);
    expect([looks, result]).toEqual([
      3,
      { kind: 'nothing', view: { message: naming(url, 'mock', 'server', 'stopped') } },
    ]);
  });
});

describe('the ready file of a running mock server', () => {
  it('the ready file is used unchanged, and reported as damaged if a part is missing or invalid', () => {
    expect(readyIn({ url, pid: 1, ready })).toBe(ready);
    for (const [name, part] of Object.entries(ready)) {
      if (name === 'ready' || name === 'pid') continue;
      const odd: unknown[] = [undefined, null, 5, ...(typeof part === 'string' ? [] : [{}, 'x', []])];
      for (const value of odd)
        expect(() => readyIn({ url, pid: 1, ready: { ...ready, [name]: value } }), name).toThrow(
          /^owner\.json .* is corrupted: /,
        );
    }
  });
  it('the ready file disables the rate limit only if it is completely readable', () => {
    const asked = (lock: unknown): boolean => {
      const host = fakeHost({ files: { '/state/mock/owner.json': JSON.stringify(lock) } });
      const settings = partlyMade<Settings>({ directories: { state: '/state' } });
      return isOwnUnlimitedMock(host, settings, url);
    };
    const { hostname, pid } = fakeHost();
    const mine = { pid, host: hostname, nonce: 'n' };
    expect(asked({ ...mine, server: { url, ready } })).toBe(true);
    for (const server of [{ url: 'x', ready }, { url }, { url, ready: null }, { url, ready: {} }])
      expect(asked({ ...mine, server })).toBe(false);
  });
});
