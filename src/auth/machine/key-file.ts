import { AppError } from '../../core/problem.ts';
import { refuseLongSecret } from '../../core/secret-size.ts';
import type { AuthContext } from '../auth-context.ts';

/** The file that a service account signs in with, in the form in which consoles give it out. */
export type KeyFile = {
  readonly email: string;
  readonly privateKey: string;
  readonly keyId?: string;
  readonly tokenUri?: string;
};

const broken = (origin: string, why: string): AppError =>
  new AppError('config', `the service account key of ${origin} cannot be used: ${why}`, {
    code: 'BAD_KEY_FILE',
    tryThis: [
      'download the key of the service account again; it is a JSON file with client_email and private_key',
    ],
  });

const textOf = async (context: AuthContext, value: string, origin: string): Promise<string> => {
  // CI systems hold a secret as a variable or as a file; a path never begins with a brace.
  if (value.trimStart().startsWith('{')) return value;
  const text = await context.host.files.read(value).catch((error: unknown) => {
    throw broken(origin, `${value} cannot be read (${(error as { code?: string }).code ?? 'unknown cause'})`);
  });
  if (text === undefined) throw broken(origin, `there is no file ${value}`);
  return text;
};

const string = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** `value` is the key file itself or its path. */
export const readKeyFile = async (context: AuthContext, value: string, origin: string): Promise<KeyFile> => {
  const text = await textOf(context, value, origin);
  let body: Readonly<Record<string, unknown>>;
  try {
    body = JSON.parse(text) as Record<string, unknown>;
  } catch {
    throw broken(origin, 'it is not JSON');
  }
  const [email, privateKey] = [string(body.client_email), string(body.private_key)];
  if (email === undefined) throw broken(origin, 'client_email is missing');
  if (privateKey === undefined) throw broken(origin, 'private_key is missing');
  refuseLongSecret('config', `private_key of ${origin}`, privateKey);
  context.log.hide(privateKey);
  const [keyId, tokenUri] = [string(body.private_key_id), string(body.token_uri)];
  return {
    email,
    privateKey,
    ...(keyId === undefined ? {} : { keyId }),
    ...(tokenUri === undefined ? {} : { tokenUri }),
  };
};
