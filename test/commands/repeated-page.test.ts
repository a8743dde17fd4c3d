import { mkdtempSync, rmSync } from 'node:fs';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { opsctl } from '../support/program.ts';

/** A service that always names the same page as the next one. */
let server: Server;
let home: string;
let base: string;
let asked = 0;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'opsctl-again-'));
  server = createServer((_, reply) => {
    asked += 1;
    reply
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ labels: [{ id: `l${asked}` }], nextPageToken: 'again' }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
  rmSync(home, { recursive: true, force: true });
});

test.each([
  [['labels', 'list', '-o', 'ndjson']],
  [['labels', 'export', '--all']],
  [['api', 'labels', 'GET', '/labels', '--paginate', '-o', 'ndjson']],
])('%j ends with an error when a page token comes again', async (argv) => {
  asked = 0;
  const ran = await opsctl(argv, {
    home,
    env: { OPSCTL_LABELS_URL: base, OPSCTL_LABELS_TOKEN: 't0ken-again' },
  });
  expect([ran.code, asked, ran.stderr]).toEqual([
    11,
    2,
    expect.stringMatching(/gave the (same nextPageToken|page .*) twice/),
  ]);
});
