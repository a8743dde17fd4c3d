import { labelsService } from '../api-specs/labels/index.ts';
import type { Context } from '../api/context.ts';
import { usageError } from '../core/problem.ts';
import { recordResult, type Result } from '../core/result.ts';
import {
  type PermissionPlan,
  permissionPlan,
  permissionsFrom,
  permissionText,
  whoOf,
} from './permissions.ts';
import { onlyDocument, textOf } from './read-files.ts';
import { allPermissions, type Asking, withLabel } from './read-labels.ts';

const { permissions } = labelsService.table;
/**
 * spec/labels#permissions-4: each batch is atomic. Grants come first, so that a principal who keeps a role
 * always has one.
 */
export const sendPermissions = async (
  context: Context,
  parent: string,
  plan: PermissionPlan,
  admin: { useAdminAccess?: boolean },
): Promise<number> => {
  const changes = [...plan.added, ...plan.changed.map(({ to }) => to)];
  if (changes.length > 0) {
    const requests = changes.map((labelPermission) => ({ parent, labelPermission }));
    await context.call(labelsService, permissions.batchUpdate, {
      params: { parent },
      body: { requests, ...admin },
    });
  }
  if (plan.removed.length > 0) {
    const requests = plan.removed.map(({ name }) => ({ name: name ?? '' }));
    await context.call(labelsService, permissions.batchDelete, {
      params: { parent },
      body: { requests, ...admin },
    });
  }
  return (changes.length > 0 ? 1 : 0) + (plan.removed.length > 0 ? 1 : 0);
};

const column = '"?(?:label|title|name|role|email|person|group|audience)"?';
/** A table with a header, as `labels permissions list -o csv` writes it: by the name of the file, or by its first line. */
const isCsv = (file: string, text: string): boolean =>
  /\.(csv|tsv)$/i.test(file) || new RegExp(`^\uFEFF?${column}(?:,${column})+[ \t]*(?:\r?\n|$)`).test(text);
/** Rows of a CSV text; the caller has the reader. */
export type ReadRows = (source: string, text: string) => Promise<unknown[]>;
/** The list of a file: a table, or a YAML or JSON document. */
export const listIn = async (
  context: Context,
  file: string,
  rowsIn: ReadRows,
): Promise<{ source: string; value: unknown }> => {
  const text = await textOf(context, file);
  if (!isCsv(file, text)) return onlyDocument(file, text);
  const source = file === '-' ? 'standard input' : file;
  return { source, value: await rowsIn(source, text) };
};
const wantedFrom = async (context: Context, file: string, rowsIn: ReadRows) => {
  const { source, value } = await listIn(context, file, rowsIn);
  const { wanted, problems } = permissionsFrom(value);
  if (problems.length > 0) {
    throw usageError(
      `${source}: the list of permissions is invalid; no request was sent`,
      problems.map((p) => ({ ...p, path: p.path === '' ? source : `${source}: ${p.path}` })),
    );
  }
  return wanted;
};
export type SyncOptions = Asking & { readonly file: string; readonly keep: boolean };
/** Makes the permissions of a label those of a list; what the list does not have goes, unless it is kept. */
export const syncPermissions = async (
  context: Context,
  typed: string,
  asking: SyncOptions,
  rowsIn: ReadRows,
): Promise<Result> => {
  const wanted = await wantedFrom(context, asking.file, rowsIn);
  return withLabel(context, typed, asking, async (found) => {
    const [parent = ''] = found.split('@');
    const plan = permissionPlan(wanted, await allPermissions(context, parent, asking), asking.keep);
    const text = permissionText(plan);
    context.log.info(`permissions of ${parent}:\n${text}`);
    const isChange = plan.added.length + plan.changed.length + plan.removed.length > 0;
    if (plan.removed.length > 0 && !context.isDryRun)
      await context.confirm(`Remove the permissions of ${plan.removed.map(whoOf).join(', ')} on ${typed}?`);
    if (isChange && !context.isDryRun)
      await sendPermissions(context, parent, plan, asking.admin ? { useAdminAccess: true } : {});
    const data = { label: parent, ...plan, sent: isChange && !context.isDryRun };
    return recordResult(data, { name: 'label', text: isChange ? text.replace(/^ {2}/gm, '') : 'no changes' });
  });
};
