/**
 * An upload of a snapshot larger than 8 GiB uses no more memory than a small snapshot. Runs only in a soak test, because it reads,
 * hashes and sends nine gigabytes.
 */
import { spawn } from 'node:child_process';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { openDestination } from '../../src/kv/snapshots/destination.ts';
import { nodeHost } from '../../src/platform/node/host.ts';
import type { Host } from '../../src/platform/host.ts';
import { makeDirectory } from '../support/directory.ts';

const [mebibyte, gibibyte] = [1024 ** 2, 1024 ** 3];
const sizeBytes = 9 * gibibyte;
const service = fileURLToPath(new URL('../support/discarding-s3.mjs', import.meta.url));

it.runIf(process.env['OPSCTL_SOAK'] === '1')(
  'nine gibibytes: memory does not grow after the first one, and the service has every byte',
  async () => {
    const home = makeDirectory();
    const child = spawn(process.execPath, [service], { stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      const port = await new Promise<string>((resolve) =>
        child.stdout.once('data', (text) => resolve(`${text}`.trim())),
      );
      // The file is sparse: it has the size but uses no disk space.
      const path = join(home, 'file');
      writeFileSync(path, '');
      truncateSync(path, sizeBytes);
      let read = 0;
      const held: { early: number; late: number } = { early: 0, late: 0 };
      const real = nodeHost({ env: { AWS_ACCESS_KEY_ID: 'anybody', AWS_SECRET_ACCESS_KEY: 'anything' } });
      const host: Host = {
        ...real,
        files: {
          ...real.files,
          stream: async function* (from: string) {
            for await (const chunk of real.files.stream(from)) {
              read += chunk.length;
              const part = read < gibibyte ? 'early' : 'late';
              held[part] = Math.max(held[part], process.memoryUsage.rss());
              yield chunk;
            }
          },
        },
      };
      const options = { endpoint: `http://127.0.0.1:${port}`, workDirectory: home };
      const destination = await openDestination(host, 's3://backups/x', options);
      // The upload succeeds only if the service reports the size of the object.
      await destination.put('prod-20261101T010000Z-r7.db', path, sizeBytes);
      destination.close();
      const [early, late] = [held.early, held.late].map((bytes) => Math.round(bytes / mebibyte));
      process.stderr.write(`held at most ${early} MiB in the first GiB, ${late} MiB afterwards\n`);
      expect(read).toBe(sizeBytes);
      expect(late).toBeLessThan((early ?? 0) + 128);
    } finally {
      child.stdin.end();
    }
  },
  3_600_000,
);
