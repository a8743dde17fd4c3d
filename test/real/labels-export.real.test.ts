import { spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { type LabelServer, directly, labelServer } from '../support/labels-server.ts';
import { peakMemory } from '../support/peak-memory.ts';
import { makeDirectory } from '../support/directory.ts';
import { slice } from '../support/slice.ts';

let server: LabelServer;
let directory: string;
let memory: ReturnType<typeof peakMemory>;
const count = 1000;
beforeAll(async () => {
  server = await labelServer();
  directory = makeDirectory();
  memory = peakMemory(directory);
  const send = directly(server.env);
  const kinds = [
    { textOptions: {} },
    { integerOptions: {} },
    { dateOptions: {} },
    { userOptions: {} },
    { selectionOptions: { choices: ['a', 'b', 'c'].map((id) => ({ id, properties: { displayName: id } })) } },
  ];
  const fields = Array.from({ length: 10 }, (_, i) => ({
    properties: { displayName: `Field ${i}` },
    ...kinds[i % kinds.length],
  }));
  for (let i = 0; i < count; i++)
    send('POST', '/labels', {
      labelType: 'SHARED',
      properties: { title: `Label ${i}`, description: 'x'.repeat(200) },
      fields,
    });
});
afterAll(async () => {
  await server.close();
});

/** Runs the built program as a process. `peakMb` is its peak memory. */
const run = async (
  ...argv: string[]
): Promise<{
  stdout: string;
  stderr: string;
  code: number | null;
  peakMb: number;
  firstAtByte: number;
}> => {
  const bin = new URL('../../bin/opsctl.js', import.meta.url).pathname;
  const child = spawn(process.execPath, [bin, ...argv], {
    env: {
      PATH: process.env.PATH,
      HOME: directory,
      NODE_OPTIONS: memory.nodeOptions,
      OPSCTL_HOME: directory,
      OPSCTL_LABELS_URL: server.mock.origin,
      OPSCTL_LABELS_TOKEN: 'any',
    },
  });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return {
    stdout: Buffer.concat(out).toString(),
    stderr: Buffer.concat(err).toString(),
    code,
    peakMb: memory.peakMb(),
    firstAtByte: out[0]?.length ?? 0,
  };
};

const GOAL_MB = 100;

test(`${count} labels with 10 fields each are exported whole, as they come, in less than 100 MB`, async () => {
  const ran = await run('labels', 'export', '--all');
  expect(ran.stderr).toBe('');
  expect(ran.code).toBe(0);
  const titles = [...ran.stdout.matchAll(/^title: (.*)$/gm)].map((match) => match[1]);
  expect(titles).toEqual(Array.from({ length: count }, (_, i) => `Label ${i}`));
  expect(ran.stdout.match(/^ {2}- name: Field/gm)).toHaveLength(count * 10);
  expect(parseAllDocuments(ran.stdout.split('\n---\n').slice(0, 2).join('\n---\n'))).toHaveLength(2);
  // The first piece is far smaller than the whole, so the program writes it before the last page has arrived.
  expect(ran.firstAtByte).toBeLessThan(ran.stdout.length / 10);
  expect(ran.peakMb).toBeGreaterThan(20);
  expect(ran.peakMb).toBeLessThan(GOAL_MB);
});

test('list never stops short of an empty token', async () => {
  const ran = await run('labels', 'list', '-o', 'ndjson');
  expect(ran.stdout.trim().split('\n')).toHaveLength(count);
  expect(ran.peakMb).toBeLessThan(150);
});

/** Each size has its own server, because all labels of a server are exported. A run covers one size, and the soak both. */
test.each(
  slice(
    [
      [1000, 10],
      [200, 100],
    ],
    1,
  ),
)(
  '%d labels of %d choices: printed, exported, and exported again with a lock file, each in less than 100 MB',
  async (labels, choices) => {
    const whole = server;
    server = await labelServer();
    try {
      const send = directly(server.env);
      const selectionOptions = {
        choices: Array.from({ length: choices }, (_, i) => ({ properties: { displayName: `Choice ${i}` } })),
      };
      for (let i = 0; i < labels; i++)
        send('POST', '/labels', {
          labelType: 'SHARED',
          properties: { title: `Label ${i}`, description: 'x'.repeat(200) },
          fields: [{ properties: { displayName: 'Status' }, selectionOptions }],
        });
      const into = join(directory, `of-${choices}`);
      const printed = await run('labels', 'export', '--all');
      const written = await run('labels', 'export', '--all', '-f', into);
      expect(printed.stdout.match(/^ {6}- name: Choice/gm)).toHaveLength(labels * choices);
      expect((await readdir(into)).filter((name) => name.endsWith('.yaml'))).toHaveLength(labels);
      expect((await run('labels', 'adopt', '-f', into)).code).toBe(0);
      const again = await run('labels', 'export', '--all', '-f', into);
      for (const { code, peakMb } of [printed, written, again])
        expect({ code, isSmall: peakMb < GOAL_MB, peakMb }).toEqual({ code: 0, isSmall: true, peakMb });
    } finally {
      await server.close();
      server = whole;
    }
  },
);
