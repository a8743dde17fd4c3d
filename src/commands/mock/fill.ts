import { resolve } from 'node:path';
import { seedOf, seedText } from '../../mock-server/seed-choice.ts';
import type { Context } from '../../cli/command.ts';

const counted = (status: { records: Record<string, number> }): string => {
  const total = Object.values(status.records).reduce((sum, count) => sum + count, 0);
  return `${total} records`;
};

/** Puts the records of a seed into the running server, or into the kept state; says how many they are. */
export const fill = async (context: Context, text: string): Promise<string> => {
  const { steer } = await import('./remote.ts');
  const seed = seedOf(text);
  if (seed.kind !== 'file')
    return steer(context, async (ask) => counted(await ask('POST', 'reset', { kind: seed.kind })));
  const path = resolve(context.host.cwd, seed.path);
  const saved = seedText(await context.host.files.read(path), path, '<seed>');
  return steer(context, async (ask) => counted(await ask('PUT', 'state', saved)));
};
