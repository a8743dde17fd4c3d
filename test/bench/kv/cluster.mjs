// Starts three real members for the benchmark without a test runner.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { runAtExit } from '../temporary.mjs';

/**
 * @param {number} ms
 * @returns {Promise<void>}
 */
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
/** @returns {Promise<number>} */
const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
      server.close(() => resolve(port));
    });
  });

/** @typedef {{ readonly server: string }} Programs */
/**
 * @param {number} size
 * @param {Programs} old
 * @param {Programs} fresh
 * @param {readonly string[]} [extra]
 */
export const startMembers = async (size, old, fresh, extra = []) => {
  const directory = mkdtempSync(join(tmpdir(), 'kv-bench-'));
  const names = Array.from({ length: size }, (_, i) => `n${i + 1}`);
  const ports = await Promise.all(names.flatMap(() => [freePort(), freePort()]));
  /** @param {number} i */
  const client = (i) => `http://127.0.0.1:${ports[i * 2]}`;
  /** @param {number} i */
  const peer = (i) => `http://127.0.0.1:${ports[i * 2 + 1]}`;
  const members = names.map((name, i) => {
    const flags = [
      ...[
        '--name',
        name,
        '--data-dir',
        join(directory, `${name}.data`),
        '--listen-client-urls',
        client(i),
        '--advertise-client-urls',
        client(i),
      ],
      ...[
        '--listen-peer-urls',
        peer(i),
        '--initial-advertise-peer-urls',
        peer(i),
        '--initial-cluster',
        names.map((n, k) => `${n}=${peer(k)}`).join(','),
      ],
      ...extra,
    ];
    const files = {
      data_dir: join(directory, `${name}.data`),
      pid_file: join(directory, `${name}.pid`),
      log_file: join(directory, `${name}.log`),
    };
    return {
      name,
      client_url: client(i),
      peer_url: peer(i),
      ...files,
      old_binary: old.server,
      new_binary: fresh.server,
      old_command: flags,
      new_command: flags,
    };
  });
  mkdirSync(directory, { recursive: true });
  const kill = () => {
    for (const { pid_file } of members) {
      try {
        process.kill(Number(readFileSync(pid_file, 'utf8')), 'SIGKILL');
      } catch {
        // The process has already exited, or has not been started.
      }
    }
  };
  // The members are processes of their own: they would outlive a benchmark that fails or is interrupted.
  const end = () => {
    kill();
    rmSync(directory, { recursive: true, force: true });
  };
  const forget = runAtExit(end);
  const file = join(directory, 'cluster.yaml');
  writeFileSync(file, stringify({ name: 'bench', driver: 'local', members }));
  for (const member of members) {
    const log = openSync(member.log_file, 'a');
    const child = spawn(member.old_binary, member.old_command, {
      detached: true,
      stdio: ['ignore', log, log],
    });
    child.unref();
    writeFileSync(member.pid_file, String(child.pid));
  }
  for (let i = 0; i < 400; i += 1) {
    const good = await Promise.all(
      members.map((member) =>
        fetch(`${member.client_url}/health`).then(
          (reply) => reply.ok,
          () => false,
        ),
      ),
    );
    if (good.every(Boolean)) break;
    await pause(50);
  }
  const stop = async () => {
    forget();
    kill();
    await pause(200);
    rmSync(directory, { recursive: true, force: true });
  };
  return { directory, file, members, stop };
};

/** @param {string} text */
const base64 = (text) => Buffer.from(text).toString('base64');
/**
 * Starts a client that knows all members and writes continuously. Measures the longest time between two acknowledged writes.
 * @param {readonly string[]} urls
 */
export const startWriter = (urls, prefix = '/v3beta') => {
  let [isOver, written, longest, at] = [false, 0, 0, 0];
  const work = (async () => {
    let last = performance.now();
    while (!isOver) {
      try {
        const body = JSON.stringify({ key: base64(`w/${written}`), value: base64('x') });
        const reply = await fetch(`${urls[at]}${prefix}/kv/put`, {
          method: 'POST',
          body,
          signal: AbortSignal.timeout(2000),
        });
        if (!reply.ok) throw new Error(String(reply.status));
        await reply.arrayBuffer();
        written += 1;
        longest = Math.max(longest, performance.now() - last);
        last = performance.now();
      } catch {
        at = (at + 1) % urls.length;
      }
      await pause(5);
    }
  })();
  return async () => {
    isOver = true;
    await work;
    return { written, longest: Math.round(longest) };
  };
};

/**
 * Measures the longest downtime of each member: from the first request without a response to the next response. Sends
 * a request every 10 ms.
 * @param {readonly string[]} urls
 */
export const startWatch = (urls) => {
  let isOver = false;
  const work = urls.map(async (url) => {
    let longest = 0;
    let missedAt;
    while (!isOver) {
      const askedAt = performance.now();
      const isThere = await fetch(`${url}/version`, { signal: AbortSignal.timeout(1000) }).then(
        (reply) => reply.arrayBuffer().then(() => true),
        () => false,
      );
      if (!isThere) missedAt ??= askedAt;
      else if (missedAt !== undefined) {
        longest = Math.max(longest, performance.now() - missedAt);
        missedAt = undefined;
      }
      await pause(10);
    }
    return Math.round(longest);
  });
  return async () => {
    isOver = true;
    return Promise.all(work);
  };
};
