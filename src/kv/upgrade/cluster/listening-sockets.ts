import { parseUrl, hasIpv4Form } from '../../../core/external-url.ts';
import { join } from 'node:path';
import type { Host } from '../../../platform/host.ts';

/** A listening socket of this machine. Addresses are dotted for IPv4 and 32 hexadecimal digits for IPv6. */
type Listener = {
  readonly address: string;
  readonly port: number;
  readonly uid: number;
  readonly inode: string;
};

const textAt = ({ files }: Host, path: string): string => {
  try {
    return files.readNow(path) ?? '';
  } catch {
    return '';
  }
};

const formatAddress = (hex: string): string =>
  [0, 2, 4, 6].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join('.');
const withoutMapping = (hex: string): string =>
  /^0{20}f{4}/.test(hex) ? formatAddress(hex.slice(24)) : hex.padStart(32, '0');
/** The kernel prints words of four bytes, each in the byte order of the machine. */
const addressIn = (hex: string): string => {
  const words = hex.toLowerCase().match(/.{8}/g) ?? [];
  const ordered = words.map((word) => (word.match(/../g) ?? []).toReversed().join('')).join('');
  return ordered.length === 8 ? formatAddress(ordered) : withoutMapping(ordered);
};
const established = '01';
const portOf = ({ port, protocol }: URL): number =>
  port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
/** The port of a client URL, as the kernel prints it. Undefined if the URL is invalid. */
export const portHex = (url: string): string | undefined => {
  const address = parseUrl(url);
  if (address === undefined) return undefined;
  return portOf(address).toString(16).toUpperCase().padStart(4, '0');
};
const bracketAddress = (address: string): string =>
  address.includes('.') ? address : `[${(address.match(/.{4}/g) ?? []).join(':')}]`;
/** Sums connections by the address of the client, which the kernel prints as hexadecimal digits. Pure. */
export const connectionsFrom = (
  counts: Iterable<readonly [hex: string, count: number]>,
): Readonly<Record<string, number>> => {
  const found = new Map<string, number>();
  for (const [hex, count] of counts) {
    const address = bracketAddress(addressIn(hex));
    found.set(address, (found.get(address) ?? 0) + count);
  }
  return Object.fromEntries([...found].sort());
};
/**
 * Returns the connections of other addresses to this URL, from the tables of the kernel in `directory`.
 * Undefined if the tables cannot be read.
 */
export const connectedTo = (
  host: Host,
  directory: string,
  url: string,
): Readonly<Record<string, number>> | undefined => {
  const port = portHex(url);
  const tables = ['tcp', 'tcp6'].map((name) => textAt(host, `${directory}/${name}`));
  if (port === undefined || tables.every((text) => text === '')) return undefined;
  const rows = tables.flatMap((text) => text.split('\n').map((line) => line.trim().split(/\s+/)));
  return connectionsFrom(
    rows.flatMap(([, local = '', remote = '', state]): (readonly [string, number])[] => {
      const [from, to] = [remote.split(':')[0] ?? '', local.split(':')];
      return state === established && to[1] === port && from !== to[0] ? [[from, 1]] : [];
    }),
  );
};
const isWildcard = (address: string): boolean => address === '0.0.0.0' || /^0{32}$/.test(address);

const listening = '0A';
const listeners = (host: Host): Listener[] =>
  ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) =>
    textAt(host, path)
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state]) => state === listening)
      .map(([, local = '', , , , , , uid, , inode = '']) => {
        const [address = '', port = ''] = local.split(':');
        return { address: addressIn(address), port: Number.parseInt(port, 16), uid: Number(uid), inode };
      }),
  );

/** Returns the hostname of a URL as an address. Undefined if the hostname is a name. */
const addressOf = (hostname: string): string | undefined => {
  if (hasIpv4Form(hostname)) return hostname;
  if (!hostname.startsWith('[')) return undefined;
  const [head = '', tail] = hostname.slice(1, -1).split('::');
  const groups = (text: string): string[] => text.split(':').filter(Boolean);
  const [before, after] = [groups(head), groups(tail ?? '')];
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  const all = [...before, ...Array.from({ length: Math.max(0, zeros) }, () => '0'), ...after];
  return withoutMapping(all.map((group) => group.padStart(4, '0')).join(''));
};
/**
 * Returns whether this machine has the address: a socket on all addresses does not serve the address of
 * another host.
 */
const isLocal = (host: Host, address: string): boolean => {
  if (/^127\.|^0{31}1$/.test(address)) return true;
  if (!address.includes('.')) return textAt(host, '/proc/net/if_inet6').includes(address);
  return textAt(host, '/proc/net/fib_trie').includes(`|-- ${address}\n`);
};

/**
 * Returns the sockets that can serve this URL. For a host name, all sockets of that port must belong to one
 * user, because the name may resolve to any address.
 */
const listenersOf = (host: Host, all: readonly Listener[], url: URL): Listener[] => {
  const { hostname } = url;
  const wanted = portOf(url);
  const onPort = all.filter((one) => one.port === wanted);
  const address = hostname === 'localhost' ? '127.0.0.1' : addressOf(hostname);
  if (address === undefined) return new Set(onPort.map(({ uid }) => uid)).size === 1 ? onPort : [];
  return onPort.filter(
    (one) => one.address === address || (isWildcard(one.address) && isLocal(host, address)),
  );
};

/** Returns whether the process has this socket. Undefined if only root may read its descriptors. */
const holds = async ({ files }: Host, pid: number, inode: string): Promise<boolean | undefined> => {
  const directory = `/proc/${pid}/fd`;
  const names = await files.list(directory).catch(() => []);
  if (names.length === 0) return undefined;
  const links = await Promise.all(
    names.map((name) => files.info(join(directory, name)).catch(() => undefined)),
  );
  return links.some((info) => info?.target === `socket:[${inode}]`);
};

/**
 * Returns whether this process serves one of these URLs on this machine, if the kernel shows it to this user.
 */
export const servesUrl = async (
  host: Host,
  { pid, uid }: { readonly pid: number; readonly uid: number },
  urls: readonly string[],
): Promise<boolean> => {
  const all = listeners(host);
  for (const listener of urls
    .flatMap((url) => parseUrl(url) ?? [])
    .flatMap((url) => listenersOf(host, all, url)))
    if (listener.uid === uid && (await holds(host, pid, listener.inode)) !== false) return true;
  return false;
};
