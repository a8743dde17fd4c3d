import { resolve } from 'node:path';
import { usageError, problem } from '../../core/problem.ts';
import { savedStateFrom } from '../../mock-server/service-set.ts';
import { own } from '../../mock-server/instance-lock.ts';
import type { Context } from '../../cli/command.ts';
import { alreadyRuns } from './already-runs.ts';
import { mockDirectory } from './embedded.ts';
import type { ServerValues } from './server-flags.ts';
import { mockOptions } from './server-options.ts';
import { seedOf, seedText } from '../../mock-server/seed-choice.ts';
import { type Started, start } from './start.ts';

export type LaunchValues = ServerValues & { readonly port?: number | undefined };

const WAIT_MS = 60_000;
export type Launched = Started & { readonly directory: string | undefined };

/** `--seed FILE` is read before anything is started, so that a wrong file changes nothing. */
const seedFrom = async ({ host }: Context, text: string | undefined) => {
  const seed = seedOf(text);
  if (seed.kind !== 'file') return { kind: seed.kind };
  const path = resolve(host.cwd, seed.path);
  const saved = savedStateFrom(seedText(await host.files.read(path), path, '--seed'));
  if (saved === undefined) {
    throw usageError('wrong seed file', [
      problem('--seed', 'format', `must be a state that \`opsctl mock state\` wrote; ${path} is not`),
    ]);
  }
  return { kind: 'empty' as const, saved };
};

/** A server for as long as the caller wants it: with the directory's state, or with none when `isEphemeral`. */
export const launch = async (
  context: Context,
  values: LaunchValues,
  what: string,
  isEphemeral: boolean,
): Promise<Launched> => {
  const { host, settings, log, signal } = context;
  const seed = await seedFrom(context, values.seed);
  const directory = isEphemeral ? undefined : mockDirectory(settings);
  const owner =
    directory === undefined ? undefined : await own(host, directory, { what, waitMs: WAIT_MS, signal });
  if (owner?.kind === 'live') throw alreadyRuns(owner.live.url, owner.live.pid);
  try {
    const started = await start(host, {
      directory,
      options: mockOptions(values),
      seed: seed.kind,
      port: values.port ?? 0,
      tls: values.tls === true,
      ...(values.clock === undefined ? {} : { clockMs: Date.parse(values.clock) }),
      idSeed: values['seed-ids'],
      warn: log.warn,
    });
    if (seed.saved !== undefined) await started.mock.restore(seed.saved);
    await owner?.publish({ url: started.mock.origin, ready: started.ready });
    return { ...started, directory, close: () => started.close().finally(() => owner?.release()) };
  } catch (error) {
    await owner?.release();
    throw error;
  }
};
