import { describe, expect, it } from 'vitest';
import { NetworkError, type TlsFailure } from '../../../src/platform/host.ts';
import { type Failed, tlsFailure } from '../../../src/kv/client/certificates.ts';

const named = { ca: '--cacert ca.pem', cert: '--cert me.pem' };
const failed = (more: Partial<Failed> = {}): Failed => ({
  at: '10.0.0.1:2379',
  isHttps: true,
  tls: { named: {} },
  speaks: undefined,
  ...more,
});
const text = (
  trouble: TlsFailure | undefined,
  more: Partial<Failed> = {},
  code: NetworkError['code'] = 'TLS',
  sent = false,
): string | undefined =>
  tlsFailure(new NetworkError(code, 'x', sent, undefined, trouble), failed(more))?.message;
const of = (kind: TlsFailure['kind'], names?: string[]): TlsFailure => ({
  kind,
  reason: 'why',
  ...(names === undefined ? {} : { names }),
});

describe('a failure of TLS names what to change', () => {
  it.each<[string | undefined, RegExp]>([
    [
      text(of('untrusted')),
      /^10\.0\.0\.1:2379: .*not signed by a trusted authority; .*--cacert, or as ca_file/,
    ],
    [
      text(of('untrusted'), { tls: { ca: 'x', named } }),
      /not signed by an authority in --cacert ca\.pem; use the file/,
    ],
    [text(of('expired')), /has expired; renew it on the member/],
    [text(of('too-early')), /not valid yet; check the clocks/],
    [
      text(of('name', ['a.example', '10.1.1.1'])),
      /is for a\.example, 10\.1\.1\.1, not for 10\.0\.0\.1; set one of its names as server_name/,
    ],
    [text(of('name')), /for another name \(why\); set that name as server_name .*--server-name/],
    [text(of('client-certificate')), /requires a client certificate; set one with --cert and --key/],
    [
      text(of('client-certificate'), { tls: { cert: 'x', named } }),
      /rejected the client certificate of --cert me\.pem \(why\)/,
    ],
    [text(of('protocol')), /the TLS handshake failed \(why\)/],
    [text(of('protocol'), { speaks: 'plain' }), /does not use TLS; write http:\/\//],
    [text(undefined, { isHttps: false, speaks: 'tls' }, 'RESET', true), /uses TLS; write https:\/\//],
    [
      text(undefined, {}, 'RESET', true),
      /closed the connection; if it requires a client certificate: --cert and --key/,
    ],
  ])('%s', (message, expected) => {
    expect(message).toMatch(expected);
  });
  it('errors without a relation to TLS get no TLS hint', () => {
    expect(text(undefined, {}, 'REFUSED')).toBeUndefined();
    expect(text(undefined, { isHttps: false }, 'RESET', true)).toBeUndefined();
    expect(text(undefined, { tls: { cert: 'x', named } }, 'RESET', true)).toBeUndefined();
  });
});
