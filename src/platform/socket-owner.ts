import { userText } from './trust.ts';
import type { Host, Incoming } from './host.ts';

/**
 * The owner of a connection to a loopback listener. `unknown`: the system does not report the owner, or the
 * other end is outside this network namespace (WSL forwards ports in this way). `gone`: the client closed its
 * end and does not wait for a response.
 */
export type SocketOwner = { readonly uid: number } | 'unknown' | 'gone';

type Row = { readonly local: number; readonly remote: number; readonly uid: number; readonly inode: string };
const portIn = (address: string): number => Number.parseInt(address.slice(address.indexOf(':') + 1), 16);
const isLoopbackAddress = (hex: string): boolean =>
  // The kernel prints words of four bytes in the byte order of the machine; both orders of 127.x.x.x and ::1 are loopback.
  /^(?:[\dA-F]{6}7F|7F[\dA-F]{6})(?::|$)/i.test(hex) ||
  /^0{16}(?:F{4}0{4}|0{4}F{4})(?:[\dA-F]{6}7F|7F[\dA-F]{6})(?::|$)/i.test(hex) ||
  /^0{24}0[01]0{4}0[01](?::|$)/.test(hex);
/** Connections between two loopback addresses in the text of `/proc/net/tcp` or `/proc/net/tcp6`. */
const rowsIn = (text: string): Row[] =>
  text
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = '', remote = '']) => isLoopbackAddress(local) && isLoopbackAddress(remote))
    .map(([, local = '', remote = '', , , , , uid, , inode = '0']) => ({
      local: portIn(local),
      remote: portIn(remote),
      uid: Number(uid),
      inode,
    }));
/** The client's end has the ports the other way round. A socket without an inode belongs to no process any more, and its user is not shown. */
export const findSocketOwner = (
  tables: readonly string[],
  ports: { readonly client: number; readonly server: number },
): SocketOwner => {
  const rows = tables.flatMap(rowsIn);
  const client = rows.find(({ local, remote }) => local === ports.client && remote === ports.server);
  if (client !== undefined) return client.inode === '0' ? 'gone' : { uid: client.uid };
  const isOpenHere = rows.some(
    ({ local, remote, inode }) => local === ports.server && remote === ports.client && inode !== '0',
  );
  return rows.length === 0 || isOpenHere ? 'unknown' : 'gone';
};
const textAt = ({ files }: Pick<Host, 'files'>, path: string): string => {
  try {
    return files.readNow(path) ?? '';
  } catch {
    return '';
  }
};
export const socketOwner = (host: Host, request: Incoming, serverPort: number): SocketOwner => {
  if (host.platform !== 'linux' || request.remotePort === undefined) return 'unknown';
  const tables = ['/proc/net/tcp', '/proc/net/tcp6'].map((path) => textAt(host, path));
  return findSocketOwner(tables, { client: request.remotePort, server: serverPort });
};
/** The kernel keeps the login user, even after `su`; 4294967295 means that it is not set. */
const loginUser = (host: Host): number | undefined => {
  const uid = Number(textAt(host, '/proc/self/loginuid') || Number.NaN);
  return Number.isInteger(uid) && uid !== 4_294_967_295 ? uid : undefined;
};
/** Root can do everything; for a process of root, the user who became root with sudo or su is the same person. */
const isSameUser = (host: Host, uid: number): boolean => {
  if (uid === 0 || uid === host.uid) return true;
  return host.uid === 0 && [Number(host.env.SUDO_UID || Number.NaN), loginUser(host)].includes(uid);
};
/** The other user's name, if the connection is of another user of this machine. */
export const strangerAt = (host: Host, request: Incoming, serverPort: number): string | undefined => {
  const owner = socketOwner(host, request, serverPort);
  return typeof owner === 'object' && !isSameUser(host, owner.uid) ? userText(host, owner.uid) : undefined;
};
