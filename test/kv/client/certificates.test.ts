import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { readCertificates } from '../../../src/kv/client/certificates.ts';
import { type CertificateFiles, certificateFiles, makeAuthority } from '../../support/certificates.ts';
import { type RealHost, realHost } from '../../support/real-host.ts';
import { naming, errorWith } from '../../support/facts.ts';

let real: RealHost;
let files: CertificateFiles;
beforeEach(async () => {
  real = await realHost();
  files = certificateFiles(real.directory);
});

type Part = { ca_file?: string; cert_file?: string; key_file?: string; server_name?: string };
const read = (part: Part = {}, flagged = {}) =>
  readCertificates(
    real.host,
    { ca_file: files.ca, cert_file: files.cert, key_file: files.key, ...part },
    flagged,
  );

describe('certificates that are good', () => {
  it('valid certificates are passed on with the names that the user knows', async () => {
    const tls = await read({ server_name: 'kv.example' }, { cert_file: '--cert' });
    expect(tls).toMatchObject({ ca: files.authority.cert, serverName: 'kv.example' });
    expect(tls.named).toEqual({ ca: `tls.ca_file (${files.ca})`, cert: `--cert ${files.cert}` });
  });
  it('a bundle may hold an authority that has run out', async () => {
    const old = makeAuthority('old', { from: -48, until: -24 });
    const bundle = files.add('bundle.pem', `# ours\n${old.cert}\n${files.authority.cert}`);
    expect((await read({ ca_file: bundle })).ca).toContain(old.cert);
  });
  it('the key of another one is not', async () => {
    const key = files.add('stray.pem', files.authority.issue().key);
    await expect(read({ key_file: key })).rejects.toThrow(
      errorWith('CERTIFICATE_FILE', 'tls.cert_file', files.cert, 'certificate'),
    );
  });
});

describe('files that cannot do', () => {
  const locked = (): string =>
    generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
      cipher: 'aes-256-cbc',
      passphrase: 'x',
    }) as string;
  it.each<[string, () => Part, readonly string[]]>([
    [
      'a file that is not there',
      () => ({ ca_file: join(real.directory, 'no.pem') }),
      ['tls.ca_file', 'no.pem'],
    ],
    ['a directory', () => ({ key_file: real.directory }), ['tls.key_file', 'directory']],
    [
      'DER in place of PEM',
      () => {
        const path = join(real.directory, 'ca.der');
        writeFileSync(path, Buffer.from(files.authority.cert.replace(/-----.*-----|\n/g, ''), 'base64'));
        return { ca_file: path };
      },
      ['tls.ca_file', 'PEM', 'DER', 'openssl'],
    ],
    [
      'a key in place of an authority',
      () => ({ ca_file: files.key }),
      ['tls.ca_file', 'private key', 'certificate'],
    ],
    [
      'a certificate in place of a key',
      () => ({ key_file: files.cert }),
      ['tls.key_file', 'certificate', 'private key'],
    ],
    ['a text in place of a key', () => ({ key_file: files.add('k.pem', 'hello') }), ['tls.key_file', 'PEM']],
    ['a locked key', () => ({ key_file: files.add('locked.pem', locked()) }), ['tls.key_file', 'passphrase']],
    [
      'a broken key',
      () => ({
        key_file: files.add('b.pem', '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n'),
      }),
      ['tls.key_file', 'private key'],
    ],
    [
      'only authorities that have expired',
      () => ({ ca_file: files.add('o.pem', makeAuthority('o', { from: -48, until: -24 }).cert) }),
      ['tls.ca_file', 'expired'],
    ],
    [
      'a client certificate of tomorrow',
      () => {
        const { cert, key } = files.authority.issue({ from: 20, until: 24 });
        return { cert_file: files.add('t.pem', cert), key_file: files.add('t-key.pem', key) };
      },
      ['tls.cert_file', 'clock'],
    ],
  ])('%s', async (_, part, values) => {
    await expect(read(part())).rejects.toThrow(errorWith('CERTIFICATE_FILE', ...values));
    await expect(read(part())).rejects.toMatchObject({ category: 'config' });
  });
  it('a file that a flag named is named as the flag, and a wrong use', async () => {
    const promise = read({ ca_file: '/no/ca.pem' }, { ca_file: '--cacert' });
    await expect(promise).rejects.toMatchObject({
      category: 'usage',
      message: naming('--cacert', '/no/ca.pem', 'exist'),
    });
  });
  it('a file that may not be read', async () => {
    const host = Object.create(real.host, {
      files: {
        value: {
          ...real.host.files,
          readBytes: () =>
            Promise.reject(Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' })),
        },
      },
    });
    await expect(readCertificates(host, { key_file: '/k', cert_file: '/c' }, {})).rejects.toThrow(
      /^tls\.cert_file \(\/c\) cannot be read: permission denied; give/,
    );
  });
  it.each<[Part, object, string]>([
    [{ key_file: undefined }, {}, 'tls.key_file is required with tls.cert_file'],
    [{ cert_file: undefined }, {}, 'tls.cert_file is required with tls.key_file'],
    [
      { key_file: undefined },
      { cert_file: '--cert' },
      '--key is required with --cert: a client certificate needs its key',
    ],
    [
      { cert_file: undefined },
      { key_file: '--key' },
      '--cert is required with --key: a client certificate needs its key',
    ],
  ])(
    'a certificate without a key, or a key without a certificate, is an error',
    async (part, flagged, message) => {
      await expect(read(part, flagged)).rejects.toThrow(message);
    },
  );
});
