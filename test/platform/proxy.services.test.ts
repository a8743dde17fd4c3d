import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import type { Host } from '../../src/platform/host.ts';
import { nodeHost } from '../../src/platform/node/host.ts';
import { proxyFor } from '../../src/platform/node/network.ts';
import { makeIdentity } from '../../src/mock-server/local-authority.ts';
import { type ProxyOptions, type ProxyServer, startProxy } from '../support/proxy-server.ts';

const identity = makeIdentity(Date.now(), (count) => randomBytes(count));
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

describe('proxy selection', () => {
  const at = (url: string, env: Record<string, string>): string | undefined => proxyFor(new URL(url), env);
  test.each<[string, Record<string, string>, string | undefined]>([
    ['https://a.example/', {}, undefined],
    ['https://a.example/', { HTTPS_PROXY: 'http://p:1' }, 'http://p:1'],
    ['https://a.example/', { HTTP_PROXY: 'http://p:1' }, undefined],
    ['http://a.example/', { HTTP_PROXY: 'http://p:1' }, 'http://p:1'],
    ['http://a.example/', { http_proxy: 'http://low:1', HTTP_PROXY: 'http://p:1' }, 'http://low:1'],
    ['http://a.example/', { ALL_PROXY: 'http://all:1' }, 'http://all:1'],
    ['http://a.example/', { HTTP_PROXY: 'p:8080' }, 'http://p:8080'],
    ['http://a.example/', { HTTP_PROXY: '' }, undefined],
    ['http://127.0.0.1:8080/', { HTTP_PROXY: 'http://p:1' }, undefined],
    ['http://localhost/', { HTTP_PROXY: 'http://p:1' }, undefined],
    ['http://[::1]/', { HTTP_PROXY: 'http://p:1' }, undefined],
    ['http://a.example/', { HTTP_PROXY: 'http://p:1', NO_PROXY: '*' }, undefined],
    ['http://a.example/', { HTTP_PROXY: 'http://p:1', NO_PROXY: 'a.example' }, undefined],
    ['http://b.a.example/', { HTTP_PROXY: 'http://p:1', NO_PROXY: 'a.example' }, undefined],
    ['http://b.a.example/', { HTTP_PROXY: 'http://p:1', NO_PROXY: '.a.example' }, undefined],
    ['http://b.a.example/', { HTTP_PROXY: 'http://p:1', NO_PROXY: '*.a.example' }, undefined],
    ['http://ba.example/', { HTTP_PROXY: 'http://p:1', NO_PROXY: 'a.example' }, 'http://p:1'],
    ['http://a.example/', { HTTP_PROXY: 'http://p:1', NO_PROXY: 'x.example, A.EXAMPLE' }, undefined],
    ['http://a.example/', { HTTP_PROXY: 'http://p:1', NO_PROXY: 'x.example a.example' }, undefined],
    ['http://a.example:81/', { HTTP_PROXY: 'http://p:1', NO_PROXY: 'a.example:80' }, 'http://p:1'],
    ['http://a.example/', { HTTP_PROXY: 'http://p:1', NO_PROXY: 'a.example:80' }, undefined],
    ['https://a.example/', { HTTPS_PROXY: 'http://p:1', NO_PROXY: 'a.example:443' }, undefined],
    ['http://10.0.0.5/', { HTTP_PROXY: 'http://p:1', NO_PROXY: '10.0.0.5' }, undefined],
    ['http://[fd00::1]/', { HTTP_PROXY: 'http://p:1', NO_PROXY: '[fd00::1]' }, undefined],
    ['http://a.example/', { HTTP_PROXY: 'http://p:1', no_proxy: 'b.example' }, 'http://p:1'],
  ])('%s with %j: %s', (url, env, expected) => {
    expect(at(url, env)).toBe(expected);
  });
});

describe('through a real proxy', () => {
  const start = async (
    tls: boolean,
    options: ProxyOptions = {},
    userinfo = '',
  ): Promise<{ host: Host; proxy: ProxyServer }> => {
    const server = nodeHost({ env: {} });
    const listener = await server.network.listen(
      async (request) => ({ status: 200, body: `${request.headers.host} ${await request.read(99)}` }),
      {
        host: '127.0.0.1',
        port: 0,
        ...(tls ? { tls: { cert: identity.cert, key: identity.key } } : {}),
      },
    );
    const proxy = await startProxy(listener.port, options);
    const host = nodeHost({
      env: { HTTP_PROXY: proxy.url.replace('//', `//${userinfo}`), HTTPS_PROXY: proxy.url },
    });
    closers.push(
      () => listener.close(),
      proxy.close,
      () => host.network.close(),
    );
    return { host, proxy };
  };

  test('plain HTTP is forwarded', async () => {
    const { host, proxy } = await start(false);
    const reply = await host.network.request({
      method: 'POST',
      url: 'http://service.test/path?q=1',
      body: 'hello',
    });
    expect(await reply.text()).toBe('service.test hello');
    expect(proxy.seen).toEqual(['POST http://service.test/path?q=1']);
  });

  test('HTTPS goes through a tunnel, end to end', async () => {
    const { host, proxy } = await start(true);
    const reply = await host.network.request({
      method: 'GET',
      url: 'https://service.test/',
      tls: { ca: identity.ca, serverName: 'localhost' },
    });
    expect(await reply.text()).toBe('service.test ');
    expect(proxy.seen).toEqual(['CONNECT service.test:443']);
  });

  test('a certificate that is not trusted is not trusted behind a proxy either', async () => {
    const { host } = await start(true);
    await expect(host.network.request({ method: 'GET', url: 'https://service.test/' })).rejects.toMatchObject(
      { code: 'TLS', sent: false },
    );
  });

  test('user name and password of the proxy', async () => {
    const { host } = await start(false, { credentials: 'me:p@ss' }, 'me:p%40ss@');
    expect((await host.network.request({ method: 'GET', url: 'http://service.test/' })).status).toBe(200);
  });

  test('a rejecting proxy causes PROXY without a request, and the message names the variables', async () => {
    const { host } = await start(true, { refuses: true });
    const failed = host.network.request({ method: 'GET', url: 'https://service.test/' });
    await expect(failed).rejects.toMatchObject({
      code: 'PROXY',
      sent: false,
      message: expect.stringContaining('HTTPS_PROXY'),
    });
  });

  test.each(['http', 'https'])('a proxy that is not there is named, not the service (%s)', async (scheme) => {
    const { host, proxy } = await start(false);
    await proxy.close();
    const failed = host.network.request({ method: 'GET', url: `${scheme}://service.test/` });
    await expect(failed).rejects.toMatchObject({
      code: 'PROXY',
      sent: false,
      message: expect.stringContaining(new URL(proxy.url).host),
    });
  });

  test.each(['socks5://127.0.0.1:1', 'http://', 'ftp://x'])('%s is not a valid proxy', async (value) => {
    const host = nodeHost({ env: { HTTP_PROXY: value } });
    await expect(host.network.request({ method: 'GET', url: 'http://service.test/' })).rejects.toMatchObject({
      category: 'config',
      detail: { code: 'PROXY_SETTING', problems: [{ path: 'HTTP_PROXY' }] },
    });
  });

  test('loopback never goes through it', async () => {
    const { host, proxy } = await start(false);
    const listener = await host.network.listen(() => ({ status: 200, body: 'direct' }), {
      host: '127.0.0.1',
      port: 0,
    });
    closers.push(() => listener.close());
    expect(
      await (await host.network.request({ method: 'GET', url: `http://127.0.0.1:${listener.port}/` })).text(),
    ).toBe('direct');
    expect(proxy.seen).toEqual([]);
  });
});
