import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { program } from '../../support/built-program.ts';
import { opsctl } from '../../support/program.ts';
import { type S3Server, startS3 } from '../../support/s3-server.ts';
import { makeDirectory } from '../../support/directory.ts';
import { errorOf } from '../../support/facts.ts';

let s3: S3Server;
let home: string;
beforeAll(async () => {
  s3 = await startS3();
});
afterAll(() => s3.close());
beforeEach(() => {
  home = makeDirectory();
});

const run = (words: readonly string[], env: Record<string, string | undefined> = {}) =>
  opsctl(['kv', 'snapshot', ...words, '--s3-endpoint', s3.url], { home, env: { ...s3.env, ...env } });
const page = Buffer.alloc(512, 7);
const whole = Buffer.concat([page, createHash('sha256').update(page).digest()]);
const sha256 = createHash('sha256').update(whole).digest('hex');

/** Stores a file in the format of `schedule`. The content is too small for a database. */
const stored = async (prefix: string, name: string, isVerified = true, content = whole): Promise<void> => {
  const { openDestination } = await import('../../../src/kv/snapshots/destination.ts');
  const { nodeHost } = await import('../../../src/platform/node/host.ts');
  const file = join(home, name);
  writeFileSync(file, content);
  const host = nodeHost({ env: s3.env });
  const destination = await openDestination(host, `s3://backups/${prefix}`, {
    endpoint: s3.url,
    workDirectory: home,
  });
  await destination.put(name, file, content.length);
  const manifest = {
    format: 1,
    cluster: 'prod',
    member: 'n1',
    revision: 7,
    total_key: 1,
    hash: 'ab',
    size_bytes: 544,
    file_sha256: sha256,
  };
  if (isVerified)
    await destination.putText(
      `${name}.json`,
      JSON.stringify({ ...manifest, verified_at: '2026-11-01T00:00:00Z', verified_by: 'checksum' }),
    );
  destination.close();
};
const error = (ran: { stderr: string }) => errorOf(ran);

describe('snapshots in a bucket', () => {
  it('a bucket lists its own snapshots with their manifests', async () => {
    await stored('list', 'prod-20261101T010000Z-r7.db');
    await stored('list', 'prod-20261102T010000Z-r8.db', false);
    await stored('list', 'notes.txt', false);
    await stored('list/deeper', 'prod-20261103T010000Z-r9.db');
    const rows = (await run(['list', 's3://backups/list', '-o', 'json'])).json();
    expect(
      rows.map(({ name, verified_by, place }: Record<string, string>) => [name, verified_by, place]),
    ).toEqual([
      ['prod-20261101T010000Z-r7.db', 'checksum', 's3://backups/list/prod-20261101T010000Z-r7.db'],
      ['prod-20261102T010000Z-r8.db', null, 's3://backups/list/prod-20261102T010000Z-r8.db'],
    ]);
    expect(rows[0]).toMatchObject({ size_bytes: 544, revision: 7, hash: 'ab', file_sha256: sha256 });
  });

  it('snapshots are pruned with their manifests, after a dry run without removals', async () => {
    for (const day of ['01', '02', '03']) await stored('prune', `prod-202611${day}T010000Z-r7.db`);
    await stored('prune', 'other-20261101T010000Z-r7.db');
    const words = ['prune', 's3://backups/prune', '--name', 'prod', '--keep-last', '1', '-o', 'json'];
    const dry = (await run([...words, '--dry-run'])).json();
    expect(dry.prune).toEqual(['prod-20261102T010000Z-r7.db', 'prod-20261101T010000Z-r7.db']);
    // This test has no terminal for a confirmation.
    expect((await run(words)).code).toBe(2);
    expect((await run(['list', 's3://backups/prune', '-o', 'json'])).json()).toHaveLength(4);
    // This service cannot list uploads, so the result is null and not zero.
    expect((await run([...words, '--yes'])).json().unfinished_uploads).toBe(null);
    const left = (await run(['list', 's3://backups/prune', '-o', 'json'])).json();
    expect(left.map(({ name }: { name: string }) => name)).toEqual([
      'other-20261101T010000Z-r7.db',
      'prod-20261103T010000Z-r7.db',
    ]);
  });

  it('a rule is needed to prune', async () => {
    const ran = await run(['prune', 's3://backups/prune', '--name', 'prod', '-o', 'json']);
    expect([ran.code, JSON.stringify(error(ran))]).toEqual([2, expect.stringContaining('--keep-last')]);
  });

  it('snapshots are verified during the read, and the manifest records it', async () => {
    const name = 'prod-20261101T010000Z-r7.db';
    await stored('verify', name);
    const ran = await run(['verify', `s3://backups/verify/${name}`, '-o', 'json']);
    expect(ran.json()).toMatchObject({ ok: true, size_bytes: 544, file_sha256: sha256, manifest: 'same' });
    const [row] = (await run(['list', 's3://backups/verify', '-o', 'json'])).json();
    expect(row.verified_at > '2026-11-01T00:00:00Z').toBe(true);
  });

  it('damaged or exchanged snapshots are detected with exit code 20', async () => {
    const [damaged, other] = ['prod-20261101T010000Z-r7.db', 'prod-20261102T010000Z-r8.db'];
    await stored('damaged', damaged, true, Buffer.concat([Buffer.alloc(512, 8), whole.subarray(512)]));
    const page8 = Buffer.alloc(512, 8);
    await stored('damaged', other, true, Buffer.concat([page8, createHash('sha256').update(page8).digest()]));
    for (const [name, says] of [
      [damaged, 'prod-20261101T010000Z-r7.db'],
      [other, 'prod-20261102T010000Z-r8.db'],
    ] as const) {
      const ran = await run(['verify', `s3://backups/damaged/${name}`, '-o', 'json']);
      expect([ran.code, error(ran).code, error(ran).message]).toEqual([
        20,
        'SNAPSHOT_DAMAGED',
        expect.stringContaining(says),
      ]);
    }
  });

  it('an unreadable manifest does not confirm a snapshot', async () => {
    const name = 'prod-20261101T010000Z-r7.db';
    await stored('unread', name, false);
    await stored('unread', `${name}.json`, false, Buffer.from('{"format":'));
    const [row] = (await run(['list', 's3://backups/unread', '-o', 'json'])).json();
    expect([row.name, row.verified_at]).toEqual([name, null]);
  });
});

describe('a bucket that cannot be used', () => {
  const cases: readonly (readonly [
    string,
    string[],
    Record<string, string | undefined>,
    number,
    string,
    string,
  ])[] = [
    ['another name', ['s3://nobody/x'], {}, 6, 'NO_BUCKET', 'bucket not found: nobody at http://127.0.0.1'],
    [
      'another key',
      ['s3://backups'],
      { AWS_ACCESS_KEY_ID: 'AKIA-NOBODY' },
      4,
      'BAD_CREDENTIALS',
      'bucket backups: unknown access key',
    ],
    ['no bucket in the URL', ['s3:///x'], {}, 2, 'USAGE', 'must be s3://BUCKET'],
    ['credentials in the URL', ['s3://key:geheim@backups/x'], {}, 2, 'USAGE', 'must be s3://BUCKET'],
    [
      'another scheme',
      ['gs://backups'],
      {},
      2,
      'UNKNOWN_DESTINATION',
      'neither a directory nor an s3:// URL',
    ],
  ];
  it.each(cases)('%s', async (_, words, env, code, word, says) => {
    const ran = await run(['list', ...words, '-o', 'json'], env);
    expect([ran.code, error(ran).code]).toEqual([code, word]);
    expect(JSON.stringify(error(ran))).toContain(says);
    expect(ran.stderr).not.toContain('S3RVER');
  });

  it('an unreachable bucket causes exit code 11', async () => {
    const ran = await opsctl(
      ['kv', 'snapshot', 'list', 's3://backups', '--s3-endpoint', 'http://127.0.0.1:1', '-o', 'json'],
      { home, env: s3.env },
    );
    expect([ran.code, error(ran).code]).toEqual([11, 'UNREACHABLE']);
  });
});

describe('snapshots in a directory', () => {
  it('snapshots in a directory are listed and pruned in the same manner, and other files stay', async () => {
    const directory = join(home, 'kept');
    mkdirSync(directory);
    for (const name of [
      'prod-20261101T010000Z-r7.db',
      'prod-20261102T010000Z-r8.db',
      'mine.db',
      'prod-n1-1.db',
    ])
      writeFileSync(join(directory, name), whole);
    const words = [
      'kv',
      'snapshot',
      'prune',
      directory,
      '--name',
      'prod',
      '--keep-last',
      '1',
      '--yes',
      '-o',
      'json',
    ];
    expect((await opsctl(words, { home })).json().prune).toEqual(['prod-20261101T010000Z-r7.db']);
    expect(
      ['prod-20261101T010000Z-r7.db', 'prod-20261102T010000Z-r8.db', 'mine.db', 'prod-n1-1.db'].map((name) =>
        existsSync(join(directory, name)),
      ),
    ).toEqual([false, true, true, true]);
    expect(readFileSync(join(directory, 'mine.db'))).toHaveLength(544);
  });
});

/** A module that changes the clock of the program that loads it. */
const clockAheadBy = (minutes: number): string =>
  `data:text/javascript,${encodeURIComponent(`const Real = Date, ahead = ${minutes * 60_000};
globalThis.Date = class extends Real {
  constructor(...words) { if (words.length > 0) super(...words); else super(Real.now() + ahead); }
  static now() { return Real.now() + ahead; }
};`)}`;

describe('a machine whose clock is wrong', () => {
  // The service rejects a signature that differs by 15 minutes. Its response contains its time, which the
  // client uses for the next signature.
  it.each([60, -60])(
    'a clock that differs by %i minutes signs again with the time of the service',
    async (minutes) => {
      await stored('skew', 'prod-20261101T010000Z-r7.db');
      const wrong = program();
      try {
        const words = ['kv', 'snapshot', 'list', 's3://backups/skew', '--s3-endpoint', s3.url];
        const env = { ...s3.env, NODE_OPTIONS: `--import=${clockAheadBy(minutes)}` };
        expect(await wrong.json(words, { env })).toMatchObject([{ name: 'prod-20261101T010000Z-r7.db' }]);
      } finally {
        await wrong.close();
      }
    },
  );
});

it('a bucket without a region is a settings error', async () => {
  const one = program();
  try {
    const env = { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_EC2_METADATA_DISABLED: 'true' };
    const failed = await one.run(['kv', 'snapshot', 'list', 's3://backups/etcd', '-o', 'json'], { env });
    expect([failed.code, error(failed).code]).toEqual([3, 'NO_REGION']);
  } finally {
    await one.close();
  }
});

describe('responses of a bucket service', () => {
  it('every error has an exit code by its cause, and one hint', async () => {
    const { bucketFailure } = await import('../../../src/kv/snapshots/destination.ts');
    const { BucketError } = await import('../../../src/platform/host.ts');
    const place = { bucket: 'b', endpoint: 'http://s3', addressing: 'path' } as const;
    const seen = (code: string, status?: number): unknown[] => {
      const failure = bucketFailure(place, new BucketError(code, 'because', status)) as {
        category: string;
        detail: { code: string };
      };
      return [failure.category, failure.detail.code];
    };
    expect(seen('RequestTimeTooSkewed', 403)).toEqual(['config', 'CLOCK_SKEW']);
    expect(seen('SignatureDoesNotMatch', 403)).toEqual(['auth', 'BAD_CREDENTIALS']);
    expect(seen('ExpiredToken', 400)).toEqual(['auth', 'EXPIRED_CREDENTIALS']);
    expect(seen('CredentialsProviderError')).toEqual(['auth', 'NO_CREDENTIALS']);
    expect(seen('AccessDenied', 403)).toEqual(['refused', 'ACCESS_DENIED']);
    // A HEAD response has no body, so only the status shows the reason.
    expect(seen('Unknown', 403)).toEqual(['refused', 'ACCESS_DENIED']);
    expect(seen('PermanentRedirect', 301)).toEqual(['config', 'WRONG_REGION']);
    expect(seen('SlowDown', 503)).toEqual(['network', 'STORAGE_FAILED']);
    expect(seen('ENOTFOUND')).toEqual(['network', 'UNREACHABLE']);
    expect(seen('AbortError')).toEqual(['interrupted', 'INTERRUPTED']);
    expect(seen('InvalidStorageClass', 400)).toEqual(['refused', 'STORAGE_FAILED']);
    // Each message contains the bucket, because the cluster file and the environment may specify different
    // buckets.
    for (const code of [
      'RequestTimeTooSkewed',
      'SignatureDoesNotMatch',
      'InvalidAccessKeyId',
      'ExpiredToken',
      'AccessDenied',
      'ENOTFOUND',
      'SlowDown',
    ])
      expect(
        (bucketFailure({ ...place, bucket: 'backups-7' }, new BucketError(code, '')) as Error).message,
      ).toContain('bucket backups-7');
    const other = new Error('ENOSPC');
    expect(bucketFailure(place, other)).toBe(other);
  });
});
