import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  base64,
  call,
  gatewayPut,
  hasBinaries,
  pause,
  type RealCluster,
  type RealMember,
  startCluster,
} from '../support/cluster.ts';
import { program } from '../support/built-program.ts';
import { opsctl } from '../support/program.ts';
import { post, simulated, text64 } from '../support/simulated.ts';
import { covers } from '../support/covers.ts';
import { makeDirectory } from '../support/directory.ts';
import { hangTimer } from '../support/hang.ts';

let cluster: RealCluster;
let home: string;
beforeEach(() => {
  home = makeDirectory();
});
afterEach(async () => {
  await cluster?.stop();
});
const kv = (...words: string[]) =>
  opsctl(['kv', ...words, '--cluster', cluster.file, '--yes', '-o', 'json'], { home });
const put = (url: string, key: string, value: string) =>
  call(`${url}/v3/kv/put`, { key: base64(key), value: base64(value) });
const chunk = 'x'.repeat(256 * 1024);
/** Only the NOSPACE error ends this loop, because a starting or busy server also returns other errors. */
const fillUp = async (url: string): Promise<void> => {
  for (const isHung = hangTimer(); !isHung(); ) {
    const reply = await put(url, 'big', chunk).catch(() => undefined);
    if (reply?.text.includes('database space exceeded') === true) return;
    if (reply?.status !== 200) await pause(25);
  }
  throw new Error('the store did not run out of space');
};

describe.runIf(hasBinaries('3.5'))('a real store that is full', () => {
  it(
    'takes writes again after recover-space, and its hint names that command',
    covers('defect/U-37'),
    async () => {
      cluster = await startCluster({
        size: 3,
        from: '3.5',
        to: '3.5',
        extra: ['--quota-backend-bytes', '6000000'],
      });
      const [url] = cluster.urls as [string];
      expect(await kv('recover-space').then((ran) => ran.json())).toMatchObject({ steps: [] });
      await fillUp(url);
      const full = await kv('put', 'a', 'b');
      expect(full.code).toBe(5);
      expect(full.stderr).toContain('opsctl kv recover-space');
      const dry = (await kv('recover-space', '--keep-last', '1', '--dry-run')).json();
      expect(dry.steps.map(({ kind }: { kind: string }) => kind)).toEqual([
        'compact',
        ...['defrag', 'check', 'defrag', 'check', 'move-leader', 'defrag', 'check'],
        ...['disarm', 'verify-write'],
      ]);
      expect((await put(url, 'a', 'b')).status).not.toBe(200);
      const ran = await kv('recover-space', '--keep-last', '1');
      expect(ran.code === 0 ? '' : ran.stderr).toBe('');
      expect(ran.stderr).toContain('no lock in the cluster');
      expect(ran.json()).toMatchObject({ outcome: 'done', operation: 'recover-space' });
      for (const one of cluster.urls) await gatewayPut(one, 'a', 'b', '/v3');
      const alarms = await call(`${url}/v3/maintenance/alarm`, { action: 'GET' });
      expect(JSON.parse(alarms.text).alarms ?? []).toEqual([]);
      const status = JSON.parse((await call(`${url}/v3/maintenance/status`, {})).text);
      expect(Number(status.dbSize)).toBeLessThan(2_000_000);
    },
  );

  it('takes writes again after compact, defrag and alarm disarm', async () => {
    cluster = await startCluster({
      size: 3,
      from: '3.5',
      to: '3.5',
      extra: ['--quota-backend-bytes', '6000000'],
    });
    const [url] = cluster.urls as [string];
    await fillUp(url);
    for (const words of [['compact', '--keep-last', '1'], ['defrag'], ['alarm', 'disarm']]) {
      const ran = await kv(...words);
      expect(ran.code === 0 ? '' : `${words[0]}: ${ran.stderr}`).toBe('');
      if (words[0] !== 'alarm') expect(ran.stderr).toContain('no lock in the cluster');
    }
    for (const one of cluster.urls) await gatewayPut(one, 'a', 'b', '/v3');
    const status = JSON.parse((await call(`${url}/v3/maintenance/status`, {})).text);
    expect(Number(status.dbSize)).toBeLessThan(2_000_000);
  });

  it('a full store reports that the keys themselves fill the quota', async () => {
    cluster = await startCluster({
      size: 1,
      from: '3.5',
      to: '3.5',
      extra: ['--quota-backend-bytes', '60000000'],
    });
    const [url] = cluster.urls as [string];
    const [member] = cluster.members as [RealMember];
    for (let n = 0; n < 30; n += 1) await gatewayPut(url, `key-${n}`, chunk, '/v3');
    // The quota falls below the size of the keys only now. Otherwise the size at the first rejected write
    // would depend on the number of commits.
    cluster.kill(member, 'SIGKILL');
    await cluster.gone(member);
    cluster.start(member, 'old', ['--quota-backend-bytes', '6000000']);
    await fillUp(url);
    const ran = await kv('recover-space', '--keep-last', '1');
    expect(ran.code).toBe(8);
    expect(ran.stderr).toContain('delete keys, or raise --quota-backend-bytes');
    // A full store accepts deletions. After them the same command continues.
    expect((await kv('del', 'key-', '--prefix')).code).toBe(0);
    const again = await kv('recover-space', '--keep-last', '1');
    expect(again.code === 0 ? '' : again.stderr).toBe('');
  });
});

describe('a simulated store that is full', () => {
  it('frees its space with compact, defrag and alarm disarm', async () => {
    const product = program();
    const sim = await simulated(
      product,
      '--version',
      '3.4.23',
      '--new-version',
      '3.5.16',
      '--quota',
      '400000',
    );
    try {
      const [url] = sim.urls as [string];
      const write = (value: string) =>
        post(url, '/kv/put', { key: text64('big'), value: text64(value) }, {}, '/v3');
      let status = 200;
      for (let n = 0; n < 200 && status === 200; n += 1) ({ status } = await write('x'.repeat(20_000)));
      expect(status).not.toBe(200);
      for (const words of [['compact', '--keep-last', '1'], ['defrag'], ['alarm', 'disarm']]) {
        const verb = words[0] as string;
        const ran = await product.run(['kv', ...words, '--cluster', sim.file, '--yes', '-o', 'json']);
        expect(ran.code === 0 ? '' : `${verb}: ${ran.stderr}`).toBe('');
      }
      expect((await write('small')).status).toBe(200);
    } finally {
      await sim.stop();
      await product.close();
    }
  });
});
