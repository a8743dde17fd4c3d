import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { start } from '../../../src/commands/mock/start.ts';
import { defaultOptions } from '../../../src/mock-server/service-set.ts';
import { type RealHost, realHost } from '../../support/real-host.ts';

let machine: RealHost;
beforeEach(async () => {
  machine = await realHost();
});

const warningsWith = async (journal: string): Promise<string[]> => {
  const directory = join(machine.directory, 'state');
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'journal-1'), journal);
  const said: string[] = [];
  const options = { directory, options: defaultOptions, seed: 'empty', port: 0, tls: false } as const;
  const { close } = await start(machine.host, { ...options, warn: (text) => said.push(text) });
  await close();
  return said;
};

test('a server whose state has an incomplete last write reports the dropped part once', async () => {
  expect(await warningsWith('opsctl-mock 1\n12345678 torn')).toEqual([
    expect.stringMatching(/state\/journal-1 .*\b13 bytes/),
  ]);
  expect(await warningsWith('opsctl-mock 1\n')).toEqual([]);
});

const serverWith = async (seed: 'demo' | 'empty') => {
  const options = { directory: undefined, options: defaultOptions, seed, port: 0, tls: false } as const;
  const { mock, close } = await start(machine.host, { ...options, warn: () => {} });
  const get = async (path: string, accept: string): Promise<Response> =>
    fetch(`${mock.origin}${path}`, { headers: { accept } });
  return { get, close };
};
const browserAccept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
test('a browser gets a page at the root with accounts, consoles and documents, and each link works', async () => {
  const { get, close } = await serverWith('demo');
  try {
    const response = await get('/', browserAccept);
    const page = await response.text();
    expect(response.headers.get('content-type')).toContain('text/html');
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(page).toContain('ada@demo.example');
    const links = [...page.matchAll(/href="([^"]+)"/g)].map(([, path = '']) => path);
    expect(links).toEqual(expect.arrayContaining(['/app', '/openapi.json', '/openapi/labels.json']));
    expect(links.some((path) => path.endsWith('/console'))).toBe(true);
    for (const path of links) expect([path, (await get(path, '*/*')).status]).toEqual([path, 200]);
  } finally {
    await close();
  }
});
test('a program gets JSON at the root, and an empty state names no demo account', async () => {
  const { get, close } = await serverWith('empty');
  try {
    for (const accept of ['*/*', 'application/json'])
      expect(await (await get('/', accept)).json()).toMatchObject({
        tracker: expect.stringContaining('/api/v3'),
      });
    expect(await (await get('/', browserAccept)).text()).not.toContain('ada@demo.example');
  } finally {
    await close();
  }
});
