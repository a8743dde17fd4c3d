import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CreateBucketCommand, ListMultipartUploadsCommand, S3Client } from '@aws-sdk/client-s3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDestination } from '../../src/kv/snapshots/destination.ts';
import { nodeHost } from '../../src/platform/node/host.ts';
import type { Host } from '../../src/platform/host.ts';
import { opsctl } from '../support/program.ts';
import { type Moto, startMoto } from '../support/moto-server.ts';
import { realMoto } from './services.mjs';
import { makeDirectory } from '../support/directory.ts';
import { errorOf } from '../support/facts.ts';

const anybody = { AWS_ACCESS_KEY_ID: 'anybody', AWS_SECRET_ACCESS_KEY: 'anything' };
let moto: Moto;
let home: string;
let client: S3Client;
beforeEach(async () => {
  home = makeDirectory();
  moto = await startMoto();
  client = new S3Client({
    endpoint: moto.url,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: 'x', secretAccessKey: 'y' },
  });
  await client.send(new CreateBucketCommand({ Bucket: 'backups' }));
});
afterEach(async () => {
  client?.destroy();
  await moto?.close();
});
const uploads = async (): Promise<number> =>
  (await client.send(new ListMultipartUploadsCommand({ Bucket: 'backups' }))).Uploads?.length ?? 0;
const destinationOf = (host: Host = nodeHost({ env: anybody })) =>
  openDestination(host, 's3://backups/x', { endpoint: moto.url, workDirectory: home });
const mebibyte = 1024 ** 2;
const name = 'prod-20261101T010000Z-r7.db';

describe.runIf(!('missing' in realMoto()))('an S3-compatible service', () => {
  it('gets a large file in parts and gives it back byte by byte', async () => {
    const content = randomBytes(40 * mebibyte + 17);
    writeFileSync(join(home, 'file'), content);
    const destination = await destinationOf();
    await destination.put(name, join(home, 'file'), content.length);
    const hash = createHash('sha256');
    for await (const chunk of (await destination.stream(name)) ?? []) hash.update(chunk);
    expect(hash.digest('hex')).toBe(createHash('sha256').update(content).digest('hex'));
    expect([await destination.names(), await uploads()]).toEqual([[{ name, sizeBytes: content.length }], 0]);
    destination.close();
  });

  it('an upload whose source breaks, or that is interrupted, leaves no part and no object', async () => {
    writeFileSync(join(home, 'file'), Buffer.alloc(40 * mebibyte));
    const host = nodeHost({ env: anybody });
    const breaking = (act: () => void): Host => ({
      ...host,
      files: {
        ...host.files,
        stream: async function* (path: string) {
          let read = 0;
          for await (const chunk of host.files.stream(path)) {
            read += chunk.length;
            if (read > 24 * mebibyte) act();
            yield chunk;
          }
        },
      },
    });
    const broken = await destinationOf(
      breaking(() => {
        throw new Error('EIO');
      }),
    );
    await expect(broken.put(name, join(home, 'file'), 40 * mebibyte)).rejects.toThrow('EIO');
    const stop = new AbortController();
    const interrupted = await destinationOf(breaking(() => stop.abort()));
    await expect(interrupted.put(name, join(home, 'file'), 40 * mebibyte, stop.signal)).rejects.toMatchObject(
      { category: 'interrupted' },
    );
    expect([await uploads(), await broken.names()]).toEqual([0, []]);
    for (const one of [broken, interrupted]) one.close();
  });
});

/** Sends an IAM request, which only the service's own users may make, before the service starts to check requests. */
const iam = async (action: string, parameters: Readonly<Record<string, string>>): Promise<string> => {
  const scope = 'Credential=x/20260101/us-east-1/iam/aws4_request, SignedHeaders=host, Signature=0';
  const reply = await fetch(moto.url, {
    method: 'POST',
    headers: { authorization: `AWS4-HMAC-SHA256 ${scope}` },
    body: new URLSearchParams({ Action: action, Version: '2010-05-08', ...parameters }),
  });
  const text = await reply.text();
  expect([action, reply.status], text).toEqual([action, 200]);
  return text;
};
const between = (text: string, tag: string): string => new RegExp(`<${tag}>([^<]+)`).exec(text)?.[1] ?? '';

describe.runIf(!('missing' in realMoto()))(
  'an S3-compatible service that checks keys, signatures and rights',
  () => {
    it('a wrong key, a wrong secret and a missing right: each names the bucket, the cause and what to try', async () => {
      await iam('CreateUser', { UserName: 'backup' });
      const policy = { Effect: 'Allow', Action: ['s3:ListBucket'], Resource: '*' };
      const PolicyDocument = JSON.stringify({ Version: '2012-10-17', Statement: [policy] });
      await iam('PutUserPolicy', { UserName: 'backup', PolicyName: 'list', PolicyDocument });
      const made = await iam('CreateAccessKey', { UserName: 'backup' });
      const [id, secret] = [between(made, 'AccessKeyId'), between(made, 'SecretAccessKey')];
      expect((await fetch(`${moto.url}/moto-api/reset-auth`, { method: 'POST', body: '0' })).status).toBe(
        200,
      );
      const run = (words: readonly string[], env: Readonly<Record<string, string>> = {}) =>
        opsctl(['kv', 'snapshot', ...words, '-o', 'json'], {
          home,
          env: {
            ...{ AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_ENDPOINT_URL_S3: moto.url },
            ...env,
          },
        });
      const said = (ran: { stderr: string }) => errorOf(ran);
      const list = ['list', 's3://backups/x'];
      const allowed = await run(list);
      expect(allowed.code === 0 ? '' : allowed.stderr).toBe('');
      const wrong = [
        [
          { AWS_SECRET_ACCESS_KEY: 'another-secret' },
          'to bucket backups: the secret does not belong to the access key',
        ],
        [{ AWS_ACCESS_KEY_ID: 'AKIANOBODY' }, 'bucket backups: unknown access key'],
      ] as const;
      for (const [env, cause] of wrong) {
        const ran = await run(list, env);
        expect([ran.code, said(ran).code, said(ran).message]).toEqual([
          4,
          'BAD_CREDENTIALS',
          expect.stringContaining(cause),
        ]);
        expect(said(ran).hint).toContain('AWS_SECRET_ACCESS_KEY');
        expect(ran.stderr).not.toContain('another-secret');
      }
      writeFileSync(join(home, 'file'), 'x');
      const user = { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret };
      const destination = await destinationOf(nodeHost({ env: user }));
      await expect(destination.put(name, join(home, 'file'), 1)).rejects.toMatchObject({
        category: 'refused',
        message: expect.stringContaining('bucket backups'),
        detail: { code: 'ACCESS_DENIED', tryThis: [expect.stringContaining('s3:PutObject')] },
      });
      destination.close();
    });
  },
);
