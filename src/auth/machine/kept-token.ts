import { createHash } from 'node:crypto';
import { AppError } from '../../core/problem.ts';
import { isKeyContent } from '../../core/field.ts';
import { type AuthContext, elapsedMs, instantNow } from '../auth-context.ts';
import type { KeptToken, StoredCredentials } from '../credential-store/account.ts';
import { openCredentialStore } from '../credential-store/store.ts';
import { jobFingerprint } from './identity-token.ts';
import type { MachineOptions, MachineToken } from './machine-token.ts';

/**
 * The token of a machine is kept in the credential store until it expires, so that the commands of a job do not request one
 * each. It is found again only by a command with the same settings, the same key or secret, and the same CI job.
 */
const settingNames = [
  ...[
    'auth.url',
    'auth.token_url',
    'auth.issuer',
    'auth.client_id',
    'auth.client_secret',
    'auth.client_auth',
  ],
  ...['auth.client_key', 'auth.client_key_id', 'auth.dpop', 'auth.subject_token_type', 'auth.resource'],
  ...['auth.token_params', 'auth.subject_audience'],
];
const maxKept = 20;
/** A key file can change below the same path. */
const contentOf = async ({ host }: AuthContext, value: string | undefined): Promise<string | undefined> =>
  value === undefined || isKeyContent(value) ? value : host.files.read(value).catch(() => undefined);
/** Undefined if the requesting job is unknown, so that no token is kept. */
export const keptTokenKey = async (
  context: AuthContext,
  options: MachineOptions,
): Promise<string | undefined> => {
  const job = options.method === 'token-exchange' ? await jobFingerprint(context) : '';
  if (job === undefined) return undefined;
  const parts = [
    options.method,
    options.audience,
    options.scopes,
    await contentOf(context, options.key?.value),
    await contentOf(context, context.settings.get('auth.client_key')?.value),
    settingNames.map((name) => context.settings.get(name)?.value),
    job,
  ];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
};
/** A read-only home or damaged credentials cost a request, never the command. */
const quietly = async <T>({ log }: AuthContext, work: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    log.debug(`the token is not kept: ${error.message}`);
    return undefined;
  }
};
const leftMs = (context: AuthContext, { obtained, lifeMs }: KeptToken): number => {
  const passed = elapsedMs(obtained, instantNow(context.host));
  return passed === undefined ? 0 : lifeMs - passed;
};
export type FoundToken = KeptToken & { readonly leftMs: number };
/** A kept token that is valid for at least `minTtlMs`, and was not refused by its server. */
export const findKeptToken = async (
  context: AuthContext,
  key: string,
  { minTtlMs = 0, refused }: { readonly minTtlMs?: number; readonly refused?: string },
): Promise<FoundToken | undefined> => {
  const data = await quietly(context, () => openCredentialStore(context).read());
  const found = data?.kept?.find((each) => each.key === key);
  if (found === undefined || found.token === refused) return undefined;
  const left = leftMs(context, found);
  return left > Math.max(minTtlMs, Math.min(60_000, found.lifeMs / 2))
    ? { ...found, leftMs: left }
    : undefined;
};
/** Tokens of the embedded server, which stops with the command, and tokens without expiry are not kept. */
export const keepToken = async (context: AuthContext, key: string, made: MachineToken): Promise<void> => {
  const { name, server, response, asked } = made;
  if (server.isMock || response.expiresInS === undefined || response.expiresInS <= 0) return;
  const kept: KeptToken = {
    key,
    name,
    server: server.key,
    token: response.accessToken,
    obtained: asked,
    lifeMs: response.expiresInS * 1000,
    ...(server.dpopKey === undefined ? {} : { dpopKey: server.dpopKey }),
  };
  const isOther = (each: KeptToken): boolean => each.key !== key && leftMs(context, each) > 0;
  await quietly(context, () =>
    openCredentialStore(context).swap((data): { data: StoredCredentials } => ({
      data: { ...data, kept: [...(data.kept ?? []).filter(isOther), kept].slice(-maxKept) },
    })),
  );
};
