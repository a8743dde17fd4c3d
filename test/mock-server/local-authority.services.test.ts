import { X509Certificate, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { identityIn, makeIdentity } from '../../src/mock-server/local-authority.ts';
import { fakeHost } from '../support/fake-host.ts';
import { realHost } from '../support/real-host.ts';
import { slowHost } from '../support/slow-host.ts';

describe('the local authority', () => {
  it('issues a certificate for the loopback names alone', () => {
    const { ca, cert } = makeIdentity(Date.now(), randomBytes);
    const [authority, server] = [new X509Certificate(ca), new X509Certificate(cert)];
    expect(server.verify(authority.publicKey) && server.checkIssued(authority)).toBe(true);
    expect([authority.ca, server.ca]).toEqual([true, false]);
    expect(['127.0.0.1', '::1'].map((ip) => server.checkIP(ip) !== undefined)).toEqual([true, true]);
    expect([server.checkHost('localhost'), server.checkHost('example.com')]).toEqual([
      'localhost',
      undefined,
    ]);
  });

  it('the certificate is accepted only by a client that trusts the authority', async () => {
    const { host, close } = await realHost();
    const { ca, cert, key } = makeIdentity(host.now(), host.random);
    const listener = await host.network.listen(() => ({ status: 200, body: 'ok' }), {
      host: '127.0.0.1',
      port: 0,
      tls: { cert, key },
    });
    const url = `https://127.0.0.1:${listener.port}/`;
    expect(await (await host.network.request({ method: 'GET', url, tls: { ca } })).text()).toBe('ok');
    await expect(host.network.request({ method: 'GET', url })).rejects.toMatchObject({ code: 'TLS' });
    await listener.close();
    await close();
  });

  it('the files of the authority follow each other, in a directory that exists', async () => {
    const machine = fakeHost();
    const slow = slowHost(machine);
    const made = await identityIn(slow.host, '/new/tls');
    expect([slow.overlaps, slow.pending()]).toEqual([[], []]);
    expect(machine.files.readNow(made.caFile)).toBe(made.ca);
  });

  it('the authority is kept in its directory, with a private key file, and renewed before it expires', async () => {
    const { host, directory, close } = await realHost();
    const tls = join(directory, 'tls');
    const first = await identityIn(host, tls);
    expect(await identityIn(host, tls)).toMatchObject({ ca: first.ca, cert: first.cert });
    expect(readFileSync(first.caFile, 'utf8')).toBe(first.ca);
    expect((await host.files.info(join(tls, 'tls.json')))?.mode).toBe(0o600);
    const dayMs = 86_400_000;
    const { validFrom, validTo } = new X509Certificate(first.cert);
    expect((Date.parse(validTo) - Date.parse(validFrom)) / dayMs).toBe(1 + 397);
    const certAfter = async (days: number) =>
      (await identityIn(Object.create(host, { now: { value: () => Date.now() + days * dayMs } }), tls)).cert;
    expect(await certAfter(366)).toBe(first.cert);
    expect(await certAfter(368)).not.toBe(first.cert);
    await close();
  });

  it.each(['', 'null', '{"ca":"x"', '{"until_ms":9e15,"ca":1}'])(
    'the authority is recreated when its file is damaged: %j',
    async (text) => {
      const { host, directory, close } = await realHost();
      await host.files.makeDirectory(join(directory, 'tls'));
      await host.files.replace(join(directory, 'tls', 'tls.json'), text);
      const made = await identityIn(host, join(directory, 'tls'));
      expect(await identityIn(host, join(directory, 'tls'))).toMatchObject({ cert: made.cert });
      await close();
    },
  );
});
