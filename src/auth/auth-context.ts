import { redactedSentence } from '../core/redact-secrets.ts';
import type { Host } from '../platform/host.ts';

/** What signing in needs of the run it is part of; a command's context has all of it. */
export type AuthContext = {
  readonly host: Host;
  readonly settings: {
    readonly profile: { readonly name: string; readonly origin: string };
    readonly directories: { readonly config: string; readonly state: string; readonly cache: string };
    get(key: string): { readonly value: string; readonly origin: string } | undefined;
  };
  readonly log: {
    info(text: string): void;
    warn(text: string): void;
    warnOnce(key: string, text: string): void;
    debug(text: string): void;
    hide(secret: string): void;
  };
  readonly signal: AbortSignal;
  target(service: 'auth' | 'api'): Promise<{
    readonly baseUrl: string;
    readonly isMock: boolean;
    readonly headers: Readonly<Record<string, string>>;
    readonly origin: string;
  }>;
};

/**
 * A point in time on two clocks. The wall clock can be set forward and back. The time since the boot of the
 * machine cannot be set, and continues during suspend.
 */
export type Instant = {
  /** Milliseconds since 1970. */
  readonly wallMs: number;
  /** Absent if the system does not provide it. */
  readonly boot?: { readonly id: string; readonly ms: number };
};
const bootPath = '/proc/sys/kernel/random/boot_id';
const uptimePath = '/proc/uptime';
export const instantFrom = (
  wallMs: number,
  bootId: string | undefined,
  uptime: string | undefined,
): Instant => {
  const seconds = Number.parseFloat(uptime ?? '');
  const id = bootId?.trim() ?? '';
  return id === '' || !Number.isFinite(seconds)
    ? { wallMs }
    : { wallMs, boot: { id, ms: Math.round(seconds * 1000) } };
};
const quietly = (host: Host, path: string): string | undefined => {
  try {
    return host.files.readNow(path);
  } catch {
    return undefined;
  }
};
export const instantNow = (host: Host): Instant =>
  host.platform === 'linux'
    ? instantFrom(host.now(), quietly(host, bootPath), quietly(host, uptimePath))
    : { wallMs: host.now() };
/**
 * The maximum time that may have passed since an earlier instant. A promise about a lifetime needs the
 * maximum, not the minimum. Undefined if it is unknown, because the wall clock was set back and the machine
 * was restarted.
 */
export const elapsedMs = (since: Instant, now: Instant): number | undefined => {
  const wall = now.wallMs - since.wallMs;
  if (since.boot !== undefined && since.boot.id === now.boot?.id)
    return Math.max(now.boot.ms - since.boot.ms, wall);
  return wall < 0 ? undefined : wall;
};

/** spec/sign-in#scope: space-delimited and case-sensitive. */
export const scopesFrom = (text: string): string[] => [
  ...new Set(text.split(' ').filter((scope) => scope !== '')),
];
export const scopeText = (scopes: readonly string[]): string => scopes.join(' ');
export const union = (...lists: readonly (readonly string[])[]): string[] => [...new Set(lists.flat())];
export const missing = (wanted: readonly string[], granted: readonly string[]): string[] =>
  wanted.filter((scope) => !granted.includes(scope));
/**
 * spec/sign-in#token: an identity scope returns an id_token, including under the long names of real services.
 */
const identity = new Set(['openid', 'profile', 'email']);
export const isIdentity = (scope: string): boolean =>
  identity.has(scope) || /\/userinfo\.(email|profile)$/.test(scope);
export type ScopeRow = { readonly scope: string; readonly granted: boolean };
/** spec/sign-in#authentication-5: which of the asked scopes the user granted; extra ones that came along are listed too. */
export const scopeTable = (requested: readonly string[], granted: readonly string[]): ScopeRow[] =>
  union(requested, granted).map((scope) => ({ scope, granted: granted.includes(scope) }));
/** The exact line that fixes a missing scope. */
export const addScopeLine = (scopes: readonly string[], account?: string): string =>
  [
    'opsctl login',
    ...(account === undefined ? [] : [`--account ${account}`]),
    ...scopes.map((scope) => `--add-scope ${scope}`),
  ].join(' ');
/** `https://…/media.readonly` → `media.readonly`: the base differs between deployments ({scope_base}). */
export const lastPart = (scope: string): string => scope.slice(scope.lastIndexOf('/') + 1);

/**
 * Text of strangers for the terminal and for pages: control characters, direction marks and line ends shown as codes,
 * secrets masked, at most `max` characters.
 */
export const safeText = (text: string, max = 80): string => {
  const shown = redactedSentence(text).replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
    (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  );
  const marks = [...shown];
  return marks.length <= max ? shown : `${marks.slice(0, max).join('')}…`;
};
