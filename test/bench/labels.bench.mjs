// Measures definition files that are up to date: requests, bytes and CPU of `labels diff -f` and `labels apply -f`.
// Measures the CPU of the commands that search the lock file for each label as well, and how it grows with the labels.
// Repeats the measurement with files in a shape that only the general YAML reader accepts. All rounds run interleaved in
// one run, so the ratio describes one machine.
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { moduleOfUse, useIn } from './cpu.mjs';
import { printGrowth } from './growth.mjs';
import { runAtExit, temporaryDirectory } from './temporary.mjs';

const bin = fileURLToPath(new URL('../../bin/opsctl.js', import.meta.url));
/** Number of labels × number of choices. */
const SIZES = (process.env.OPSCTL_BENCH_LABELS ?? '20x10,200x10,1000x10,200x100')
  .split(',')
  .map((size) => size.split('x').map(Number));
const ROUNDS = 3;
const LOCK_FILE = 'labels.lock.yaml';
const say = (text) => process.stdout.write(`${text}\n`);
/** If the reader of stdout exits early (`| head`), printing stops but the cleanup still runs. */
process.stdout.on('error', () => undefined);
const home = temporaryDirectory('opsctl-bench-labels-');
const cpuAtExit = moduleOfUse(home);

const started = () =>
  new Promise((resolve, reject) => {
    const limits = ['--rate-limit', 'off', '--labels-quota', 'off'];
    const args = [
      bin,
      'mock',
      'serve',
      '--ephemeral',
      '--port',
      '0',
      '--seed',
      'empty',
      ...limits,
      '-o',
      'json',
    ];
    const child = spawn(process.execPath, args, {
      env: { PATH: process.env.PATH, HOME: home, OPSCTL_HOME: home },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    runAtExit(() => child.kill('SIGKILL'));
    let text = '';
    child.stdout.on('data', (data) => {
      text += data;
      try {
        resolve({ child, origin: new URL(JSON.parse(text).labels.base_url).origin });
      } catch {
        // The document is still incomplete.
      }
    });
    child.on('exit', (code) => reject(new Error(`the server ended with ${code}: ${text}`)));
  });

/** Counts the requests of the client and the bytes of the responses. */
const counting = (origin) =>
  new Promise((resolve) => {
    const counts = { requests: 0, bytes: 0 };
    const server = createServer((asked, answer) => {
      counts.requests += 1;
      const upstream = request(
        origin + asked.url,
        { method: asked.method, headers: { ...asked.headers, host: new URL(origin).host } },
        (reply) => {
          answer.writeHead(reply.statusCode, reply.headers);
          reply.on('data', (data) => (counts.bytes += data.length));
          reply.pipe(answer);
        },
      );
      asked.pipe(upstream);
    });
    server.listen(0, '127.0.0.1', () =>
      resolve({ counts, server, origin: `http://127.0.0.1:${server.address().port}` }),
    );
  });

const run = (origin, ...argv) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--import', cpuAtExit, bin, 'labels', ...argv], {
      cwd: home,
      env: {
        PATH: process.env.PATH,
        HOME: home,
        OPSCTL_HOME: home,
        OPSCTL_LABELS_URL: origin,
        OPSCTL_LABELS_TOKEN: 'any',
        OPSCTL_RATE_PER_MINUTE: 'off',
      },
    });
    let stderr = '';
    child.stdout.resume();
    child.stderr.on('data', (data) => (stderr += data));
    child.on('close', (code) => {
      if (code === 0) resolve(useIn(stderr));
      else reject(new Error(`labels ${argv.join(' ')} ended with ${code}: ${stderr.slice(0, 2000)}`));
    });
  });

const fill = async (origin, labels, choices) => {
  for (let n = 0; n < labels; n++) {
    const body = {
      labelType: 'SHARED',
      properties: { title: `Label ${n}`, description: `What label ${n} stands for` },
      fields: [
        { properties: { displayName: 'Note' }, textOptions: {} },
        {
          properties: { displayName: 'Status' },
          selectionOptions: {
            choices: Array.from({ length: choices }, (_, i) => ({
              properties: { displayName: `Choice ${i}` },
            })),
          },
        },
      ],
    };
    const reply = await fetch(`${origin}/v2beta/labels`, {
      method: 'POST',
      headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!reply.ok) throw new Error(await reply.text());
  }
};

/** Writes the same definitions with a comment after a value, as a person might, so that only the general YAML reader can parse them. */
const annotated = (from, to) => {
  mkdirSync(join(home, to));
  for (const name of readdirSync(join(home, from))) {
    const text = readFileSync(join(home, from, name), 'utf8');
    const isDefinition = name !== LOCK_FILE && name.endsWith('.yaml');
    writeFileSync(join(home, to, name), isDefinition ? text.replace(/^title: .*$/m, '$& # a note') : text);
  }
};

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

const compared = async (proxy, directories, command) => {
  const found = directories.map(() => []);
  for (let round = 0; round < ROUNDS; round++)
    for (const [i, directory] of directories.entries()) {
      Object.assign(proxy.counts, { requests: 0, bytes: 0 });
      found[i].push({ ...(await run(proxy.origin, command, '-f', directory)), ...proxy.counts });
    }
  const [fast, general] = found.map((runs) => median(runs.map(({ seconds }) => seconds)));
  const [{ requests, bytes }] = found[0];
  const megabytes = Math.max(...found[0].map((one) => one.megabytes));
  say(
    `  ${command.padEnd(6)}${String(requests).padStart(5)} requests ${(bytes / 1000).toFixed(0).padStart(6)} kB` +
      `${fast.toFixed(2).padStart(6)} s CPU ${megabytes.toFixed(0).padStart(4)} MB` +
      `  annotated ${general.toFixed(2)} s  ratio ${(fast / general).toFixed(2)}`,
  );
  return fast;
};

/** CPU seconds by command, for the sizes that differ in the number of files only. */
const costs = { export: [], adopt: [], again: [], plan: [], diff: [], apply: [] };
let start = 0;
for (const [labels, choices] of SIZES) {
  const { child, origin } = await started();
  const proxy = await counting(origin);
  try {
    await fill(origin, labels, choices);
    const [plain, noted] = [`plain-${labels}-${choices}`, `noted-${labels}-${choices}`];
    start = (await run(proxy.origin, '--help')).seconds;
    const exported = await run(proxy.origin, 'export', '--all', '-f', plain);
    const adopt = await run(proxy.origin, 'adopt', '-f', plain);
    annotated(plain, noted);
    const again = await run(proxy.origin, 'export', '--all', '-f', plain);
    const plan = await run(proxy.origin, 'plan', '-f', plain, '--out', `${plain}.plan`);
    say(`${labels} files of ${choices} choices`);
    const isInGrowth = choices === SIZES[0][1];
    for (const [what, { seconds, megabytes }] of Object.entries({ export: exported, adopt, again, plan })) {
      say(
        `  ${what.padEnd(6)}${''.padStart(24)}${seconds.toFixed(2).padStart(6)} s CPU ${megabytes.toFixed(0).padStart(4)} MB`,
      );
      if (isInGrowth) costs[what].push([labels, seconds]);
    }
    for (const command of ['diff', 'apply']) {
      const seconds = await compared(proxy, [plain, noted], command);
      if (isInGrowth) costs[command].push([labels, seconds]);
    }
  } finally {
    child.kill('SIGTERM');
    proxy.server.close();
    proxy.server.closeAllConnections();
  }
}
for (const [command, points] of Object.entries(costs))
  printGrowth(`${command}, files`, points, { base: start });
