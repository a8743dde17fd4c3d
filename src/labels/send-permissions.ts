import { labelsService } from '../api-specs/labels/index.ts';
import type { Context } from '../cli/command.ts';
import type { PermissionPlan } from './permissions.ts';

const { permissions } = labelsService.table;

/** spec/labels#permissions-4: each batch is atomic. Grants come first, so that nobody who keeps a role is without one in between. */
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
