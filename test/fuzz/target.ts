/** A target of the fuzzer, and the helpers of targets. */
import type { AuthContext } from '../../src/auth/auth-context.ts';
import { runProgram } from '../../src/cli/run.ts';
import { program as opsctl } from '../../src/commands/program.ts';
import { type FakeHostOptions, fakeHost } from '../support/fake-host.ts';

export type Target = {
  readonly name: string;
  readonly seeds: readonly (string | Buffer)[];
  run(input: Buffer): unknown;
};
export const text = (input: Buffer): string => input.toString('utf8');
export async function* pieces(input: Buffer): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < input.length; from += 97) yield input.subarray(from, from + 97);
}
export const drained = async (rows: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of rows);
};
export const attempt = (act: () => unknown): unknown => {
  try {
    act();
    return undefined;
  } catch (error) {
    return error;
  }
};

/** Runs a reader whose callers add the source of the message. Its errors must be messages and not programming errors. */
export const inWords = async (act: () => unknown): Promise<void> => {
  try {
    await act();
  } catch (error) {
    const isAccident = ['TypeError', 'RangeError', 'ReferenceError'].includes((error as Error).name);
    if (isAccident) throw error;
  }
};

export const HOME = '/home/user/opsctl';
/** Runs the whole program, which must not fail with an unknown cause. Without `reply`, the services are unavailable. */
export const program = async (
  argv: readonly string[],
  files: Readonly<Record<string, string>> = {},
  more: Pick<FakeHostOptions, 'reply' | 'stdin' | 'run'> = {},
): Promise<void> => {
  const host = fakeHost({
    files,
    env: {
      OPSCTL_HOME: HOME,
      OPSCTL_KEYCHAIN: 'never',
      OPSCTL_TRACKER_URL: 'http://127.0.0.1:9',
      OPSCTL_TRACKER_TOKEN: 'tttttttt',
      OPSCTL_LABELS_URL: 'http://127.0.0.1:9',
      OPSCTL_LABELS_TOKEN: 't',
    },
    reply: () => ({ status: 503 }),
    ...more,
  });
  const code = await runProgram(host, argv, opsctl);
  if (code === 1 || /(?:^error: |"message":")unexpected:/m.test(host.err()))
    throw new Error(`exit ${code}: ${host.err().slice(0, 300)}`);
};

/** Runs one sign-in whose network returns this response. */
export const signIn = (
  files: Readonly<Record<string, string>> = {},
  reply?: FakeHostOptions['reply'],
): AuthContext => {
  const host = fakeHost({ files, env: { OPSCTL_KEYCHAIN: 'never' }, ...(reply ? { reply } : {}) });
  const nothing = (): void => undefined;
  return {
    host,
    signal: new AbortController().signal,
    settings: {
      profile: { name: 'mock', origin: 'default' },
      directories: { config: '/s', state: '/s', cache: '/s' },
      get: () => undefined,
    },
    log: { info: nothing, warn: nothing, debug: nothing, warnOnce: nothing, hide: nothing },
  } as unknown as AuthContext;
};
