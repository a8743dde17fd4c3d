import { readFileSync, writeFileSync, appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Program, program } from '../support/built-program.ts';

let home: Program;
let real: { url: string; token: string };
let upstream: Program;
const file = (): string => join(home.home, 'sync.cassette');
const script = `
set -e
id=$("$NODE" "$OPSCTL" tracker labels create --name bug --color '#cc0000' --jq .id)
"$NODE" "$OPSCTL" tracker labels update "$id" --description 'a defect' -q
"$NODE" "$OPSCTL" tracker epics create --name Billing --label bug -q
"$NODE" "$OPSCTL" tracker labels list -o name
"$NODE" "$OPSCTL" tracker labels delete "$id" --yes -q
`;
const env = () => ({
  NODE: process.execPath,
  OPSCTL: process.env.OPSCTL_TEST_BIN ?? new URL('../../bin/opsctl.js', import.meta.url).pathname,
  OPSCTL_TRACKER_URL: 'http://127.0.0.1:9',
  OPSCTL_TRACKER_TOKEN: real.token,
  OPSCTL_RATE_PER_MINUTE: 'off',
});
const record = () =>
  home.run(['mock', 'record', '--upstream', real.url, '--out', file(), '--', 'sh', '-c', script], {
    env: env(),
  });
const differences = async (...flags: string[]) => {
  const { code, stdout, stderr } = await home.run(['mock', 'compare', file(), '-o', 'json', ...flags]);
  expect([0, 20], stderr).toContain(code);
  const rows = JSON.parse(stdout).map((row: any) => `${row.exchange} ${row.method} ${row.where}`);
  return { code, rows };
};

/** The "real" service: another embedded server with other identifiers. */
beforeEach(async () => {
  home = program();
  upstream = program();
  const started = await upstream.run([
    'mock',
    'start',
    '--seed',
    'empty',
    '--token',
    'a-real-token',
    '-o',
    'json',
  ]);
  const { url, tracker } = JSON.parse(started.stdout);
  real = { url, token: tracker.token };
  for (const name of ['x', 'y', 'z']) {
    await upstream.run(['tracker', 'labels', 'create', '--name', name]);
    await upstream.run(['tracker', 'labels', 'delete', name, '--yes']);
  }
});
afterEach(async () => {
  await upstream.run(['mock', 'stop']);
});

describe('a cassette', () => {
  it('a cassette contains the requests of a script without secrets, and replaces the service', async () => {
    const recorded = await record();
    expect([recorded.code, recorded.stderr]).toEqual([0, expect.stringContaining('exchanges recorded')]);
    const text = readFileSync(file(), 'utf8');
    expect(text).not.toContain('a-real-token');
    expect(text).toContain('"name":"bug"');
    await upstream.run(['mock', 'stop']);
    const replay = ['mock', 'replay', file(), '--strict', '--', 'sh', '-c'];
    const replayed = await home.run([...replay, script], { env: env() });
    expect([replayed.code, replayed.stdout], replayed.stderr).toEqual([0, recorded.stdout]);
    const other = `"$NODE" "$OPSCTL" tracker labels get 999999 -q || true`;
    const unknown = await home.run([...replay, other], { env: env() });
    expect([unknown.code, unknown.stderr]).toEqual([
      20,
      expect.stringContaining('GET /api/v3/labels/999999'),
    ]);
  });
  it('a cassette shows no difference for an equal server with other identifiers', async () => {
    await record();
    expect(await differences()).toEqual({ code: 0, rows: [] });
  });
  it('shows exactly the planted differences', async () => {
    const faults = join(home.home, 'faults.yaml');
    const label = '{"entity_type":"label","id":4711,"name":"bug","color":"#00cc00"}';
    writeFileSync(
      faults,
      JSON.stringify([
        {
          method: 'PUT',
          path: '/api/v3/labels/*',
          when: 'after',
          headers: { 'content-type': 'text/plain' },
        },
        { method: 'DELETE', path: '/api/v3/labels/*', when: 'after', status: 202, body: label },
      ]),
    );
    await upstream.run(['mock', 'faults', 'load', faults]);
    const { code } = await home.run(
      [
        'mock',
        'record',
        '--upstream',
        real.url,
        '--out',
        file(),
        '--',
        process.execPath,
        '-e',
        `const ask = async (method, path, body) => {
           const reply = await fetch(process.env.OPSCTL_TRACKER_URL + '/api/v3' + path, { method, body: body && JSON.stringify(body),
             headers: { 'Tracker-Token': process.env.OPSCTL_TRACKER_TOKEN, 'content-type': 'application/json' } });
           const text = await reply.text();
           return text === '' ? undefined : JSON.parse(text);
         };
         (async () => {
           const { id } = await ask('POST', '/labels', { name: 'bug', color: '#cc0000' });
           await ask('PUT', '/labels/' + id, { description: 'd' });
           await ask('GET', '/labels/' + id);
           await ask('DELETE', '/labels/' + id);
         })();`,
      ],
      { env: env() },
    );
    expect(code).toBe(0);
    expect(await differences()).toEqual({
      code: 20,
      rows: ['2 PUT content-type', '4 DELETE status', '4 DELETE content-type', '4 DELETE body'],
    });
  });
  it('an interrupted cassette keeps its complete lines; a damaged one is named with its line', async () => {
    await record();
    const whole = (await differences()).rows.length;
    appendFileSync(file(), '{"request":{"method":"GET","pa');
    expect((await differences()).rows.length).toBe(whole);
    appendFileSync(file(), '\n');
    const damaged = await home.run(['mock', 'compare', file()]);
    expect([damaged.code, damaged.stderr]).toEqual([
      2,
      expect.stringMatching(/sync\.cassette:\d+: this line is not JSON/),
    ]);
    const none = await home.run(['mock', 'replay', join(home.home, 'none')]);
    expect(none.code).toBe(2);
    const plain = await home.run([
      'mock',
      'record',
      '--upstream',
      'http://example.com',
      '--out',
      'x',
      '--',
      'true',
    ]);
    expect([plain.code, plain.stderr]).toEqual([2, expect.stringContaining('https://')]);
  });
});
