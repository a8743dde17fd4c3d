/** An address in digits cannot be made to lead elsewhere; a browser takes a page's origin from it as it stands. */
const ADDRESS = /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/;
/**
 * Endings that nobody can register (RFC 2606, 6761): `mock.test`, `example.com`; and those by which containers reach their host. Not among them:
 * names below `local`, which any machine of the network can take (multicast DNS), other names below `internal`, which the name server of a
 * network gives out, and names without a dot, which a search domain completes.
 */
const RESERVED = /(^|\.)(localhost|(docker|containers)\.internal|test|invalid|example\.(com|net|org))$/;

const nameOf = (host: string): string =>
  host
    .toLowerCase()
    .replace(/:\d{0,5}$/, '')
    .replace(/\.$/, '');

/**
 * Whether a Host header is one under which this server may answer. A page of another site can let its own name lead to
 * 127.0.0.1 (DNS rebinding), and its requests then carry that name: everything here would be readable to it. Pure.
 */
export const isOwnHost = (
  host: string | undefined,
  hostname: string,
  allowed: readonly string[] = [],
): boolean => {
  // Only programs of HTTP/1.0 leave it out; every browser sends it.
  if (host === undefined) return true;
  const name = nameOf(host);
  if (ADDRESS.test(name) || RESERVED.test(name) || name === nameOf(hostname)) return true;
  return allowed.some((each) => each === '*' || nameOf(each) === name);
};

const KNOWN_HOSTS = 100;

/** `isOwnHost` for one server, which is asked about the same few names by every request. */
export const ownHostJudge = (
  hostname: string,
  allowed: readonly string[] = [],
): ((host: string | undefined) => boolean) => {
  const known = new Map<string | undefined, boolean>();
  return (host) => {
    const found = known.get(host);
    if (found !== undefined) return found;
    const isOwn = isOwnHost(host, hostname, allowed);
    // Whoever sends a new name each time must not fill the memory.
    if (known.size >= KNOWN_HOSTS) known.clear();
    known.set(host, isOwn);
    return isOwn;
  };
};
