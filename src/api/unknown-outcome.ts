import type { LooseInput, Operation, ServiceInfo, Table } from '../core/operation.ts';
import { AppError, reword } from '../core/problem.ts';
import { shellWord } from '../core/shell.ts';
import { NetworkError } from '../platform/host.ts';
import { unreachable } from './send.ts';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/** A search is a POST without changes. */
const mayChange = (method: string, path: string): boolean =>
  !READS.has(method) && !/\/search([?#]|$)/.test(path);

/**
 * False for a request of which no byte can have reached the service. A rejection (4xx) is a definite
 * response: no change was applied.
 */
const mayBeApplied = (error: AppError): boolean => {
  const { cause } = error.detail;
  return error.category === 'network' && (!(cause instanceof NetworkError) || cause.sent);
};

type Request = { readonly method: string; readonly url: string };

/** An error of the network with its category, and for a change that was sent the fact that its outcome is unknown. */
export const withOutcome = async (
  thrown: unknown,
  { method, url }: Request,
  next: () => string | Promise<string>,
): Promise<unknown> => {
  const error = thrown instanceof NetworkError ? unreachable(thrown, url) : thrown;
  if (!(error instanceof AppError) || error.detail.outcome !== undefined) return error;
  if (!mayChange(method, url) || !mayBeApplied(error)) return error;
  return reword(error, {
    ...error.detail,
    outcome: 'unknown',
    retryable: false,
    tryThis: [
      `check whether the change was applied before you send it again: ${await next()}`,
      ...(error.detail.tryThis ?? []),
    ],
  });
};

const words = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();

/** The command that shows whether a request to any path was applied: the record, or the list that it is in. */
export const rawCheck = (service: string, method: string, path: string): string => {
  const [bare = ''] = path.split('?');
  return `opsctl api ${service} GET ${shellWord(method === 'POST' ? bare.replace(/:[a-z]\w*$/i, '') : bare)}`;
};

/** Commands of one resource are loaded without the table of all resources. */
const tableOf = async ({ name, table }: ServiceInfo & { readonly table?: Table }): Promise<Table> =>
  table ?? (name === 'tracker' ? (await import('../api-specs/tracker/index.ts')).tracker.table : {});

/** The command that shows whether a row of a table was applied. */
export const checkCommand = async (
  service: ServiceInfo & { readonly table?: Table },
  operation: Operation,
  { params = {}, body }: LooseInput,
  path: string,
): Promise<string> => {
  const found = Object.entries(await tableOf(service)).find(([, verbs]) =>
    Object.values(verbs).some((one) => one.method === operation.method && one.path === operation.path),
  );
  if (found === undefined) return rawCheck(service.name, operation.method, path);
  const [resource, verbs] = found;
  const group = `opsctl ${[service.name, ...words(resource).split(' ')].filter((one, i, all) => one !== all[i - 1]).join(' ')}`;
  const ids = Object.values(params).map(String);
  if (operation.method !== 'POST' && verbs.get !== undefined && ids.length > 0)
    return `${group} get ${ids.map(shellWord).join(' ')}`;
  const above = ids.slice(0, Object.keys(verbs.list?.params ?? {}).length).map(shellWord);
  if (verbs.list !== undefined && !verbs.list.cli?.hidden) return [`${group} list`, ...above].join(' ');
  const name = body?.name;
  if (verbs.search?.body?.name !== undefined && typeof name === 'string')
    return `${group} search --name ${shellWord(name)}`;
  return rawCheck(service.name, operation.method, path);
};
