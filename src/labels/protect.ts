import { join } from 'node:path';
import { childPath, pathPart } from '../core/file-name.ts';
import type { Context } from '../api/context.ts';
import { AppError, type Problem, problem } from '../core/problem.ts';
import type { Change, LabelDef, LiveLabel } from './definition.ts';
import { type DeploymentRecord, LOCK_FILE, lockFrom } from './lock-file.ts';
import type { Plan } from './plan.ts';

const takesAway = ({ kind }: Change): boolean => kind === 'disabled' || kind === 'deleted';
/** The field that a change removes. A change of one of its choices leaves the field. */
const goneField = (change: Change): string | undefined =>
  takesAway(change) && change.part.choiceId === undefined ? change.part.fieldId : undefined;
const waysOut = (part: string): string =>
  `write ${part} with protect: false and apply it first, or keep the part as it is`;
/**
 * Refuses changes that disable or delete a protected part. A part that the file no longer contains is protected by the
 * lock file; a definition lifts the protection with `protect: false`.
 */
export const protectionProblems = (
  plan: Plan,
  wanted: LabelDef,
  live: LiveLabel | undefined,
  record: DeploymentRecord | undefined,
): Problem[] => {
  if (live === undefined) return [];
  const fields = wanted.fields ?? [];
  const found = plan.changes.flatMap((change): Problem[] => {
    const id = goneField(change);
    if (id === undefined) return [];
    const name = live.fields.find((field) => field.id === id)?.name ?? id;
    const at = fields.findIndex((field) => field.id === id || field.name === name || field.was === name);
    const known = Object.values(record?.fields ?? {}).find((field) => field.id === id);
    if (!(fields[at]?.protect ?? known?.protect ?? false)) return [];
    const text = `would be ${change.kind}: field ${JSON.stringify(name)} is protected`;
    return [problem(at < 0 ? 'fields' : `fields[${at}]`, 'rule', text, waysOut('the field'))];
  });
  const isLabel = (wanted.protect ?? record?.protect ?? false) && plan.transitions.includes('disable');
  const own = problem('state', 'rule', 'would be disabled: the label is protected', waysOut('the label'));
  return isLabel && live.state !== 'DISABLED' ? [own, ...found] : found;
};

type Protection = {
  readonly path: string;
  readonly lines: readonly string[];
  readonly file: string | undefined;
  readonly record: DeploymentRecord;
};
/** Records of a label in the lock files of the current directory and of the directories in it. */
const recordsFor = async (context: Context, id: string): Promise<Protection[]> => {
  const { host } = context;
  const names = await host.files.list(host.cwd).catch(() => []);
  const directories = [host.cwd, ...names.map((name) => childPath(host.cwd, pathPart(name)))];
  const found: Protection[] = [];
  for (const directory of directories) {
    const path = join(directory, LOCK_FILE);
    if ((await host.files.info(path).catch(() => undefined))?.kind !== 'file') continue;
    const text = (await host.files.read(path)) ?? '';
    for (const { file, deployments } of Object.values(lockFrom(path, text).labels))
      for (const record of Object.values(deployments))
        if (record.id === id) found.push({ path, lines: text.split('\n'), file, record });
  }
  return found;
};
const placeIn = ({ path, lines }: Protection, id: string): string =>
  `${path}:${lines.findIndex((line) => line.includes(JSON.stringify(id))) + 1}`;
const makeProtectedError = (seen: Protection, what: string, id: string): AppError => {
  const file = seen.file === undefined ? '' : `, defined in ${seen.file}`;
  return new AppError('unsafe', `${what} is protected (${placeIn(seen, id)}${file}); no changes were made`, {
    code: 'PROTECTED',
    tryThis: [`write protect: false in ${seen.file ?? 'its definition'}, then run opsctl labels apply`],
  });
};
/** Refuses to disable, delete or publish the removal of parts that a lock file of this directory protects. */
export const refuseProtected = async (
  context: Context,
  live: LiveLabel,
  changes: readonly Change[] | 'all',
): Promise<void> => {
  for (const seen of await recordsFor(context, live.id)) {
    if (changes === 'all' && seen.record.protect === true)
      throw makeProtectedError(seen, `label ${JSON.stringify(live.title)}`, live.id);
    for (const field of Object.values(seen.record.fields)) {
      const isGone = changes === 'all' || changes.some((change) => goneField(change) === field.id);
      if (field.protect === true && isGone)
        throw makeProtectedError(seen, `field ${JSON.stringify(field.name)} of ${live.title}`, field.id);
    }
  }
};
