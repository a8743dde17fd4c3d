import { join, resolve } from 'node:path';
import { AppError } from '../../core/problem.ts';
import { str } from '../../core/field.ts';
import type { Rehearsal, RehearsalMember } from '../../etcd-sim/cluster/layout.ts';
import type { Context, Flag } from '../../cli/command.ts';

export const dirFlag = {
  effects: ['reads', 'writes'],
  field: str(),
  summary: 'Directory of the rehearsal cluster (default: one in the state directory)',
  value: 'directory',
  complete: 'file',
} as const satisfies Flag;
export const directoryOf = (context: Context, values: { readonly dir?: string | undefined }): string =>
  values.dir === undefined
    ? join(context.settings.directories.state, 'mock-kv')
    : resolve(context.host.cwd, values.dir);

/** The cluster in the directory, or an error that says how to make one. */
export const rehearsalIn = async (
  context: Context,
  values: { readonly dir?: string | undefined },
): Promise<Rehearsal> => {
  const { readRehearsal } = await import('../../etcd-sim/cluster/processes.ts');
  const directory = directoryOf(context, values);
  const rehearsal = await readRehearsal(context.host, directory);
  if (rehearsal !== undefined) return rehearsal;
  throw new AppError('not-found', `there is no rehearsal cluster in ${directory}`, {
    code: 'NO_REHEARSAL',
    tryThis: [`opsctl mock kv start --members 3 --dir ${directory}`],
  });
};

/** The members that are meant: one by its name, or all. */
export const chosen = (rehearsal: Rehearsal, name: string | undefined): readonly RehearsalMember[] => {
  if (name === undefined) return rehearsal.members;
  const found = rehearsal.members.filter((member) => member.name === name);
  if (found.length > 0) return found;
  const names = rehearsal.members.map((member) => member.name).join(', ');
  throw new AppError('usage', `--member ${name}: there is no such member`, {
    code: 'NO_SUCH_MEMBER',
    tryThis: [`one of ${names}`],
  });
};
export const memberFlag = {
  effects: [],
  field: str(),
  summary: 'Only this member',
  value: 'name',
  complete: 'kv-member',
} as const satisfies Flag;
