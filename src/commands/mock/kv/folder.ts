import { join, resolve } from 'node:path';
import { AppError } from '../../../core/problem.ts';
import { str } from '../../../core/field.ts';
import type { Rehearsal, RehearsalMember } from '../../../etcd-sim/cluster/layout.ts';
import type { Context, Flag, Values } from '../../../cli/command.ts';

export const dirFlag: Flag = {
  field: str(),
  summary: 'Folder of the rehearsal cluster; one in the state folder unless given',
  value: 'folder',
  complete: 'file',
};
export const folderOf = (context: Context, values: Values): string =>
  values.dir === undefined
    ? join(context.settings.folders.state, 'mock-kv')
    : resolve(context.host.cwd, values.dir);

/** The cluster in the folder, or an error that says how to make one. */
export const rehearsalIn = async (context: Context, values: Values): Promise<Rehearsal> => {
  const { readRehearsal } = await import('../../../etcd-sim/cluster/processes.ts');
  const folder = folderOf(context, values);
  const rehearsal = await readRehearsal(context.host, folder);
  if (rehearsal !== undefined) return rehearsal;
  throw new AppError('not-found', `there is no rehearsal cluster in ${folder}`, {
    code: 'NO_REHEARSAL',
    tryThis: [`opsctl mock kv start --members 3 --dir ${folder}`],
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
export const memberFlag: Flag = {
  field: str(),
  summary: 'Only this member',
  value: 'name',
  complete: 'kv-member',
};
