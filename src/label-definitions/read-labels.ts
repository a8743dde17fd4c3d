import type { LooseInput, Operation } from '../core/operation.ts';
import { labelsService } from '../api-specs/labels/index.ts';
import type { Context } from '../cli/command.ts';
import type { LabelJson, LimitsJson, LockJson, PermissionJson, UserCapabilitiesJson } from './api-types.ts';

const { table } = labelsService;
export type Asking = { readonly admin?: boolean };
const adminQuery = ({ admin }: Asking) => (admin ? { useAdminAccess: true } : {});

/** Reads are made under --dry-run as well: a plan needs them. */
const read = <T>(context: Context, operation: Operation, input: LooseInput): Promise<T> =>
  context.call(labelsService, operation, input, { evenInDryRun: true }) as Promise<T>;

export const getLabel = (context: Context, name: string, asking: Asking = {}): Promise<LabelJson> =>
  read(context, table.labels.get, {
    params: { name },
    query: { view: 'LABEL_VIEW_FULL', ...adminQuery(asking) },
  });

type Page = { readonly nextPageToken?: string };
/** Follows nextPageToken until there is none: the only sign of the end (spec/labels#parameters). */
export async function* allPages<T extends Page>(
  context: Context,
  operation: Operation,
  input: LooseInput,
): AsyncGenerator<T> {
  let pageToken: unknown = input.query?.pageToken;
  do {
    const query = { ...input.query, ...(pageToken === undefined || pageToken === '' ? {} : { pageToken }) };
    const page: T = await read<T>(context, operation, { ...input, query });
    yield page;
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined && pageToken !== '');
}

export async function* allLabels(
  context: Context,
  query: Readonly<Record<string, unknown>>,
): AsyncGenerator<LabelJson> {
  for await (const page of allPages<Page & { labels?: LabelJson[] }>(context, table.labels.list, { query }))
    yield* page.labels ?? [];
}

export const allLocks = async (context: Context, label: string): Promise<LockJson[]> => {
  const locks: LockJson[] = [];
  const input = { params: { parent: label }, query: { pageSize: 200 } };
  for await (const page of allPages<Page & { labelLocks?: LockJson[] }>(context, table.locks.list, input))
    locks.push(...(page.labelLocks ?? []));
  return locks;
};

export const allPermissions = async (
  context: Context,
  label: string,
  asking: Asking = {},
): Promise<PermissionJson[]> => {
  const found: PermissionJson[] = [];
  const input = { params: { parent: label }, query: { pageSize: 200, ...adminQuery(asking) } };
  for await (const page of allPages<Page & { labelPermissions?: PermissionJson[] }>(
    context,
    table.permissions.list,
    input,
  )) {
    found.push(...(page.labelPermissions ?? []));
  }
  return found;
};

export const getLimits = (context: Context): Promise<LimitsJson> => read(context, table.limits.get, {});
export const getUserCapabilities = (context: Context): Promise<UserCapabilitiesJson> =>
  read(context, table.capabilities.get, { params: { name: 'users/me/capabilities' } });
