import { describe, expect, test } from 'vitest';
import { findSocketOwner, strangerAt } from '../../src/platform/trust.ts';
import type { Host, Incoming } from '../../src/platform/host.ts';
import { partlyMade } from '../support/context.ts';

const head =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode';
const row = (local: string, remote: string, uid: number, inode: number): string =>
  `   0: ${local} ${remote} 01 00000000:00000000 00:00000000 00000000  ${uid}        0 ${inode} 1 0000000000000000 20 4 30 10 -1`;
const hex = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0');
const v4 = (port: number): string => `0100007F:${hex(port)}`;
const v6 = (port: number): string => `00000000000000000000000001000000:${hex(port)}`;
const mapped = (port: number): string => `0000000000000000FFFF00000100007F:${hex(port)}`;
const ports = { client: 50_000, server: 4711 };

describe('the user at the other end of a connection', () => {
  test.each([
    ['IPv4', v4],
    ['IPv6', v6],
    ['IPv4 in IPv6', mapped],
  ])('%s', (_, at) => {
    const table = [head, row(at(4711), at(50_000), 0, 7), row(at(50_000), at(4711), 1001, 8)].join('\n');
    expect(findSocketOwner([table], ports)).toEqual({ uid: 1001 });
  });
  test('a closed socket yields no information about the user', () => {
    const table = [head, row(v4(4711), v4(50_000), 1000, 7), row(v4(50_000), v4(4711), 0, 0)].join('\n');
    expect(findSocketOwner([table], ports)).toBe('gone');
  });
  test('a connection from outside this network namespace', () => {
    expect(findSocketOwner([[head, row(v4(4711), v4(50_000), 1000, 7)].join('\n')], ports)).toBe('unknown');
    expect(findSocketOwner(['', ''], ports)).toBe('unknown');
  });
  test('the owner is unknown if both ends are gone', () => {
    expect(findSocketOwner([[head, row(v4(1), v4(2), 1000, 7)].join('\n')], ports)).toBe('gone');
  });
  test('a connection of another address with the same ports does not count', () => {
    const other = `0100000A:${hex(50_000)}`;
    const table = [head, row(v4(4711), v4(50_000), 1000, 7), row(other, `0200000A:${hex(4711)}`, 1001, 9)];
    expect(findSocketOwner([table.join('\n')], ports)).toBe('unknown');
  });
});

describe('classification of strangers', () => {
  const at = (uid: number, own: { uid: number; env?: Record<string, string>; loginuid?: string }) => {
    const table = [head, row(v4(4711), v4(50_000), own.uid, 7), row(v4(50_000), v4(4711), uid, 8)].join('\n');
    const files: Record<string, string | undefined> = {
      '/proc/net/tcp': table,
      '/proc/self/loginuid': own.loginuid ?? '4294967295',
      '/etc/passwd': 'eve:x:1001:1001::/home/eve:/bin/sh\n',
    };
    const host = partlyMade<Host>({
      platform: 'linux',
      uid: own.uid,
      env: own.env ?? {},
      files: { readNow: (path: string) => files[path] },
    });
    return strangerAt(host, { remotePort: 50_000 } as Incoming, 4711);
  };
  test.each([
    ['the same user', 1000, { uid: 1000 }, undefined],
    ['root', 0, { uid: 1000 }, undefined],
    ['another user', 1001, { uid: 1000 }, 'eve (uid 1001)'],
    ['another user, for root', 1001, { uid: 0 }, 'eve (uid 1001)'],
    ['the user who ran sudo', 1001, { uid: 0, env: { SUDO_UID: '1001' } }, undefined],
    ['the user who ran su', 1001, { uid: 0, loginuid: '1001' }, undefined],
    [
      'a SUDO_UID that only the environment claims',
      1001,
      { uid: 1000, env: { SUDO_UID: '1001' } },
      'eve (uid 1001)',
    ],
  ])('%s', (_, uid, own, stranger) => {
    expect(at(uid, own)).toBe(stranger);
  });
});
