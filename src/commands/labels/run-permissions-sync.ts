import { usageError } from '../../core/problem.ts';
import { type Result, recordResult } from '../../core/result.ts';
import { labelsService } from '../../api-specs/labels/index.ts';
import type { Context } from '../../cli/command.ts';
import {
  type PermissionPlan,
  permissionPlan,
  permissionText,
  permissionsFrom,
  whoOf,
} from '../../label-definitions/permissions.ts';
import { allPermissions } from '../../label-definitions/read-labels.ts';
import { onlyDocument, textOf } from '../../label-definitions/read-files.ts';
import { withLabel } from '../../label-definitions/resolve-label.ts';
import type { PermissionsSyncValues } from './permissions-sync.ts';

const { permissions } = labelsService.table;

const column = '"?(?:name|role|email|person|group|audience)"?';
/** A table with a header, as `labels permissions list -o csv` writes it: by the name of the file, or by its first line. */
const isCsv = (file: string, text: string): boolean =>
  /\.csv$/i.test(file) || new RegExp(`^\uFEFF?${column}(?:,${column})+[ \t]*(?:\r?\n|$)`).test(text);

const rowsIn = async (source: string, text: string): Promise<unknown[]> => {
  const { readRows } = await import('../../bulk/rows.ts');
  const bytes = (async function* () {
    yield new TextEncoder().encode(text);
  })();
  const rows: unknown[] = [];
  for await (const lines of readRows(bytes, 'csv')) {
    for (const { line, row, problem: wrong } of lines) {
      if (wrong)
        throw usageError(`${source} is not a CSV table; nothing was sent`, [
          { ...wrong, path: `${source}: line ${line}` },
        ]);
      rows.push(row);
    }
  }
  return rows;
};

const listIn = async (context: Context, file: string): Promise<{ source: string; value: unknown }> => {
  const text = await textOf(context, file);
  if (!isCsv(file, text)) return onlyDocument(file, text);
  const source = file === '-' ? 'standard input' : file;
  return { source, value: await rowsIn(source, text) };
};

const wantedFrom = async (context: Context, file: string) => {
  const { source, value } = await listIn(context, file);
  const { wanted, problems } = permissionsFrom(value);
  if (problems.length > 0) {
    throw usageError(
      `${source}: the list of permissions is wrong; nothing was sent`,
      problems.map((p) => ({ ...p, path: p.path === '' ? source : `${source}: ${p.path}` })),
    );
  }
  return wanted;
};

/** spec/labels#permissions: each batch is atomic. Grants come first, so that nobody who keeps a role is without one in between. */
const send = async (
  context: Context,
  parent: string,
  plan: PermissionPlan,
  admin: { useAdminAccess?: boolean },
): Promise<void> => {
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
};

export const runPermissionsSync = async (
  context: Context,
  values: PermissionsSyncValues,
): Promise<Result> => {
  const asking = { admin: values.admin ?? false };
  const wanted = await wantedFrom(context, values.file);
  return withLabel(context, values.label, asking, async (found) => {
    const [parent = ''] = found.split('@');
    const plan = permissionPlan(wanted, await allPermissions(context, parent, asking), values.keep ?? false);
    const text = permissionText(plan);
    context.log.info(`permissions of ${parent}:\n${text}`);
    const isChange = plan.added.length + plan.changed.length + plan.removed.length > 0;
    if (plan.removed.length > 0 && !context.isDryRun)
      await context.confirm(`Take ${plan.removed.map(whoOf).join(', ')} away from ${values.label}?`);
    if (isChange && !context.isDryRun)
      await send(context, parent, plan, asking.admin ? { useAdminAccess: true } : {});
    const data = { label: parent, ...plan, sent: isChange && !context.isDryRun };
    return recordResult(data, { name: 'label', text: isChange ? text.replace(/^ {2}/gm, '') : 'no changes' });
  });
};
