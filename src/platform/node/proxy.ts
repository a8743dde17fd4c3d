type Env = Readonly<Record<string, string | undefined>>;

const pick = (env: Env, name: string): string | undefined =>
  env[name.toLowerCase()] || env[name.toUpperCase()] || undefined;

/** Requests to this machine never go through a proxy: the proxy would look for the service on itself. */
const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' ||
  hostname.endsWith('.localhost') ||
  hostname === '[::1]' ||
  hostname === '::1' ||
  /^127(\.\d{1,3}){3}$/.test(hostname);

/** One entry of NO_PROXY: `*`, `example.com` (and below it), `.example.com`, `10.0.0.5`, each with an optional `:port`. */
const excludes = (entry: string, hostname: string, port: string): boolean => {
  if (entry === '*') return true;
  const at = /^(\[[^\]]*\]|[^:]*|[^[].*:.*:.*?)(?::(\d+))?$/.exec(entry);
  const name = (at?.[1] ?? entry).replace(/^\[|\]$/g, '').replace(/^\*?\.+/, '');
  const host = hostname.replace(/^\[|\]$/g, '');
  if (name === '' || (at?.[2] !== undefined && at[2] !== port)) return false;
  return host === name || host.endsWith(`.${name}`);
};

/** The proxy that the environment asks for, if any. Lower-case names win, as in curl. Pure. */
export const proxyFor = (url: URL, env: Env): string | undefined => {
  const secure = url.protocol === 'https:';
  const proxy = pick(env, secure ? 'https_proxy' : 'http_proxy') ?? pick(env, 'all_proxy');
  if (proxy === undefined || isLoopback(url.hostname)) return undefined;
  const port = url.port || (secure ? '443' : '80');
  const excluded = (pick(env, 'no_proxy') ?? '')
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '');
  if (excluded.some((entry) => excludes(entry, url.hostname.toLowerCase(), port))) return undefined;
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(proxy) ? proxy : `http://${proxy}`;
};
