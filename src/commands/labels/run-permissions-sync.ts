import { usageError } from '../../kernel/problem.ts';
import { type Result, recordResult } from '../../kernel/result.ts';
import { labelsService } from '../../services/labels/index.ts';
import type { Context, Values } from '../command.ts';
import { type PermissionPlan, permissionPlan, permissionText, permissionsFrom, whoOf } from './plan/permissions.ts';
import { allPermissions } from './read.ts';
import { readDocuments } from './read-files.ts';
import { withLabel } from './reference.ts';

const { permissions } = labelsService.table;

const wantedFrom = async (context: Context, file: string) => {
  const [document] = await readDocuments(context, [file]);
  const { wanted, problems } = permissionsFrom(document?.value);
  if (problems.length > 0) {
    throw usageError(
      `${file}: the list of permissions is wrong; nothing was sent`,
      problems.map((p) => ({ ...p, path: `${file}: ${p.path}` })),
    );
  }
  return wanted;
};

/** facts labels 5: each batch is atomic. Grants come first, so that nobody who keeps a role is without one in between. */
const send = async (context: Context, parent: string, plan: PermissionPlan, admin: { useAdminAccess?: boolean }): Promise<void> => {
  const changes = [...plan.added, ...plan.changed.map(({ to }) => to)];
  if (changes.length > 0) {
    const requests = changes.map((labelPermission) => ({ parent, labelPermission }));
    await context.call(labelsService, permissions.batchUpdate, { params: { parent }, body: { requests, ...admin } });
  }
  if (plan.removed.length > 0) {
    const requests = plan.removed.map(({ name }) => ({ name: name ?? '' }));
    await context.call(labelsService, permissions.batchDelete, { params: { parent }, body: { requests, ...admin } });
  }
};

export const runPermissionsSync = async (context: Context, values: Values): Promise<Result> => {
  const asking = { admin: values.admin ?? false };
  const wanted = await wantedFrom(context, values.file);
  return withLabel(context, values.label, asking, async (found) => {
    const [parent = ''] = found.split('@');
    const plan = permissionPlan(wanted, await allPermissions(context, parent, asking), values.keep ?? false);
    const text = permissionText(plan);
    context.say.info(`permissions of ${parent}:\n${text}`);
    const isChange = plan.added.length + plan.changed.length + plan.removed.length > 0;
    if (plan.removed.length > 0 && !context.isDryRun) await context.confirm(`Take ${plan.removed.map(whoOf).join(', ')} away from ${values.label}?`);
    if (isChange && !context.isDryRun) await send(context, parent, plan, asking.admin ? { useAdminAccess: true } : {});
    const data = { label: parent, ...plan, sent: isChange && !context.isDryRun };
    return recordResult(data, { text: isChange ? text.replace(/^ {2}/gm, '') : 'no changes' });
  });
};
