import type { Operation } from '../../core/operation.ts';
import { type Result, recordResult } from '../../core/result.ts';
import { labelsService } from '../../api-specs/labels/index.ts';
import type { Context, Values } from '../../cli/command.ts';
import { isOnePermission } from './row-kinds.ts';

/** spec/labels#permissions: some services name permissions with two segments (people/1), which only a batch can delete. */
export const deletedByBatch = async (context: Context, { name, ...values }: Values): Promise<Result> => {
  const parent = String(name).split('/permissions/')[0] ?? '';
  const { permissions, revisionPermissions } = labelsService.table;
  const { batchDelete } = parent.includes('/revisions/') ? revisionPermissions : permissions;
  if (!context.isDryRun) await context.confirm(`Delete ${name}?`);
  const body = {
    requests: [{ name }],
    ...(values['use-admin-access'] === true ? { useAdminAccess: true } : {}),
  };
  return recordResult(await context.call(labelsService, batchDelete, { params: { parent }, body }));
};

export const hasTwoSegments = (operation: Operation, { name }: Values): boolean =>
  isOnePermission(operation) && /\/permissions\/[^/]+\/[^/]+$/.test(String(name));
