import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { start } from '../../../src/commands/mock/start.ts';
import { defaultOptions } from '../../../src/mock-server/environment.ts';
import { type RealHost, realHost } from '../../support/real-host.ts';

let machine: RealHost;
beforeEach(async () => {
  machine = await realHost();
});
afterEach(() => machine.close());

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
