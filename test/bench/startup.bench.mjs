// Start-up as a ratio to bare `node -e 0`: minima of alternating runs, so that noise of the machine falls out.
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodeOf } from '../tooling/nodes.mjs';
import { Worker, isMainThread, parentPort } from 'node:worker_threads';

const bin = fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));
const RUNS = Number(process.env.OPSCTL_BENCH_RUNS ?? 21);

if (!isMainThread) {
  const server = createServer((_, reply) =>
    reply.setHeader('content-type', 'application/json').end('[{"id":1,"name":"bug"}]'),
  );
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
} else {
  const worker = new Worker(new URL(import.meta.url));
  const port = await new Promise((resolve) => worker.once('message', resolve));
  const home = mkdtempSync(join(tmpdir(), 'opsctl-bench-'));
  const env = {
    ...process.env,
    OPSCTL_HOME: home,
    OPSCTL_TRACKER_URL: `http://127.0.0.1:${port}`,
    OPSCTL_TRACKER_TOKEN: 'bench',
  };
  delete env.NODE_EXTRA_CA_CERTS;
  const cases = [
    ['node -e 0', ['-e', '0'], 1],
    ['--version', [bin, '--version'], 1.6],
    ['--help', [bin, '--help'], 1.6],
    ['__complete', [bin, '__complete', 'tracker', 'labels', 'create', '--co'], 1.6],
    ['tracker labels create --help', [bin, 'tracker', 'labels', 'create', '--help'], 2.6],
    ['tracker labels list (one GET)', [bin, 'tracker', 'labels', 'list', '-o', 'json'], 3.0],
  ];
  const nodes = [process.execPath, nodeOf(24)].filter(Boolean);
  for (const node of nodes) {
    const best = cases.map(() => Number.POSITIVE_INFINITY);
    for (let run = 0; run <= RUNS; run++) {
      for (const [i, [, args]] of cases.entries()) {
        const start = process.hrtime.bigint();
        const { status, stderr } = spawnSync(node, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
        const ms = Number(process.hrtime.bigint() - start) / 1e6;
        if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
        if (run > 0) best[i] = Math.min(best[i], ms);
      }
    }
    const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.trim();
    process.stdout.write(`Node ${version}, minima of ${RUNS} alternating runs\n`);
    for (const [i, [name, , limit]] of cases.entries()) {
      const ratio = best[i] / best[0];
      process.stdout.write(
        `  ${name.padEnd(32)} ${best[i].toFixed(1).padStart(7)} ms  ${ratio.toFixed(2)} x (goal ≤ ${limit})${ratio > limit ? '  OVER' : ''}\n`,
      );
      if (ratio > limit) process.exitCode = 1;
    }
  }
  await worker.terminate();
  rmSync(home, { recursive: true, force: true });
}
