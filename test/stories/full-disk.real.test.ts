/** The built program on a full disk: its messages, no partial results, and success of the same command line after space is freed. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Program, program } from '../support/built-program.ts';
import { makeDirectory } from '../support/directory.ts';

const BIN = process.env.OPSCTL_TEST_BIN ?? new URL('../../bin/opsctl.js', import.meta.url).pathname;
const mount = (path: string): void => {
  mkdirSync(path, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'none', path], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
};
const unmount = (path: string): void => void spawnSync('umount', ['-l', path]);
const whyNoMount = (): string | undefined => {
  const path = makeDirectory('opsctl-mount-');
  try {
    mount(path);
    unmount(path);
    return undefined;
  } catch (error) {
    return String((error as { stderr?: Buffer }).stderr ?? error).trim();
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
};
const missing = whyNoMount();
if (missing !== undefined)
  process.stderr.write(`left out: really full disks: ${missing} (mounting a tmpfs needs root)\n`);

let home: Program;
let disk: string;
beforeEach(() => {
  home = program();
  disk = join(home.home, 'disk');
});
afterEach(() => {
  unmount(disk);
});
const fill = (): void => {
  const file = openSync(join(disk, 'filler'), 'a');
  try {
    for (;;) writeSync(file, Buffer.alloc(4096));
  } catch {
    // The disk is full, as intended.
  }
  closeSync(file);
};
const free = (): void => rmSync(join(disk, 'filler'));
const hello =
  '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}\n';

describe.runIf(missing === undefined)('commands on a full disk', () => {
  beforeEach(() => {
    mount(disk);
    fill();
  });
  it('a simulated cluster is not started on a full disk, and starts after space is freed', async () => {
    const line = ['mock', 'kv', 'start', '--members', '1', '--dir', join(disk, 'kv')];
    const refused = await home.run(line);
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringMatching(/disk\/kv\/bin.*ENOSPC/)]);
    expect(readdirSync(join(disk, 'kv'))).toEqual([]);
    free();
    expect((await home.run(line)).code).toBe(0);
    await home.run(['mock', 'kv', 'stop', '--kill', '--dir', join(disk, 'kv')]);
  });
  it('a server in the background reports why it exited', async () => {
    const { code, stderr } = await home.run(['mock', 'start'], { env: { OPSCTL_HOME: disk } });
    expect([code, stderr]).toEqual([
      3,
      expect.stringContaining(`the disk of ${disk}/state/mock/mock is full`),
    ]);
  });
  it('unsaved state of the embedded server is reported without a stack trace', async () => {
    free();
    const env = { OPSCTL_HOME: disk, NODE_DISABLE_COMPILE_CACHE: '1', NODE_COMPILE_CACHE: undefined };
    const server = home.start(['mock', 'serve', '-o', 'json'], { env });
    const { url } = await server.first;
    fill();
    const { code } = await home.run(['mock', 'reset', '--yes'], { env: { OPSCTL_MOCK_URL: url } });
    server.kill('SIGTERM');
    const { stderr } = await server.ended;
    expect(code).toBe(11);
    expect(stderr).toMatch(/cannot write its state in .*: ENOSPC/);
    expect(stderr).not.toMatch(/^\s+at /m);
  });
  it('a crash leaves no empty report', async () => {
    const preload = `data:text/javascript,${encodeURIComponent("const fail = () => { if (process.listenerCount('uncaughtException') > 0) throw new RangeError('x'); setTimeout(fail, 5); }; setTimeout(fail, 5);")}`;
    const env = { OPSCTL_HOME: disk, NODE_OPTIONS: `--import=${preload}` };
    const { code, stderr } = await home.run(['mock', 'serve', '--ephemeral'], { env });
    expect([code, stderr]).toEqual([1, expect.stringContaining('no report could be written')]);
    expect(readdirSync(join(disk, 'state', 'crashes'))).toEqual([]);
  });
});

describe.runIf(missing === undefined)('a recorder on a full disk', () => {
  let upstream: Server;
  let url: string;
  beforeEach(async () => {
    mount(disk);
    // A cassette stores complete JSON bodies and omits text of an unknown type.
    const body = JSON.stringify({ text: 'x'.repeat(99_989) });
    upstream = createServer((_, response) =>
      response.setHeader('content-type', 'application/json').end(body),
    );
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  });
  afterEach(() => upstream.close());
  const record = (script: string) =>
    home.run(['mock', 'record', '--upstream', url, '--out', join(disk, 'c'), '--', 'sh', '-c', script]);

  it('leaves no empty cassette', async () => {
    fill();
    const { code, stderr } = await record('true');
    expect([code, stderr]).toEqual([3, expect.stringMatching(/disk\/c.*ENOSPC/)]);
    expect(existsSync(join(disk, 'c'))).toBe(false);
  });
  it('a recorder on a full disk forwards the responses, keeps its data, and reports the end of the cassette', async () => {
    expect((await record('true')).code).toBe(0);
    fill();
    const { code, stdout, stderr } = await record('curl -s "$OPSCTL_TRACKER_URL/x" | wc -c');
    expect([code, stdout.trim()], stderr).toEqual([3, '100000']);
    expect(stderr).toMatch(/cassette \S+: the disk is full/);
    expect(readFileSync(join(disk, 'c'), 'utf8').split('\n')).toHaveLength(2);
  });
});

describe('a server of tools without a reader', () => {
  const serve = (output: 'pipe' | number) =>
    spawn(process.execPath, [BIN, 'mcp'], {
      stdio: ['pipe', output, 'pipe'],
      env: { ...process.env, OPSCTL_HOME: home.home },
    });
  const endOf = async (child: ReturnType<typeof serve>): Promise<[number | null, string]> => {
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return [code, said];
  };
  it('a server of tools reports the full disk', async () => {
    const full = openSync('/dev/full', 'w');
    const child = serve(full);
    const ended = endOf(child);
    child.stdin?.write(hello);
    const [code, said] = await ended;
    closeSync(full);
    expect([code, said]).toEqual([3, expect.stringContaining('ENOSPC')]);
    expect(said).not.toContain('internal error');
  });
  it('ends in silence when its reader is gone', async () => {
    const child = serve('pipe');
    const ended = endOf(child);
    child.stdout?.destroy();
    child.stdin?.on('error', () => {});
    child.stdin?.write(hello);
    const [code, said] = await ended;
    expect([code, said]).toEqual([0, expect.not.stringMatching(/error/i)]);
  });
});
