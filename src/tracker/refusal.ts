import type { Operation } from '../core/operation.ts';
import { AppError } from '../core/problem.ts';
import type { Target } from '../cli/command.ts';

type Body = { readonly feature_tag?: unknown; readonly entitlement_tag?: unknown };
const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** spec/tracker#errors-2: a switched-off feature, something the plan lacks, or a right that the token's owner has not. */
const forbidden = ({ detail }: AppError, { isMock }: Target): string[] => {
  const { feature_tag: feature, entitlement_tag: entitlement } = (detail.data ?? {}) as Body;
  const mock = isMock ? ['`opsctl mock features show` lists the switches of the embedded server'] : [];
  if (text(feature) !== undefined)
    return [
      ...mock,
      `the feature ${text(feature)} is off in this workspace; an admin can switch it on in its settings`,
    ];
  if (text(entitlement) !== undefined)
    return [...mock, `the plan of this workspace does not include ${text(entitlement)}; ask an admin of it`];
  return [
    '`opsctl tracker members me` shows whose token this is; ask an admin of the workspace for the right',
  ];
};

const unauthorized = ({ origin, isMock }: Target): string[] =>
  isMock
    ? ['`opsctl mock status` shows the token of the running server']
    : [
        'make a new token in the account settings of the workspace, then OPSCTL_TRACKER_TOKEN=… or `opsctl config set tracker.token --stdin`',
        `\`opsctl config list --show-origin\` tells where token and address come from (address: ${origin})`,
      ];

const LISTED: ReadonlySet<string> = new Set(
  'categories custom-fields entity-templates epics files linked-files groups iterations labels members milestones objectives projects repositories'.split(
    ' ',
  ),
);

/** A list is never missing: the address is wrong. Of a record, the list shows what there is. */
const notFound = (operation: Operation | undefined, { message }: AppError, { origin }: Target): string[] => {
  if (operation === undefined) return [];
  if (operation.params === undefined)
    return [`check the base URL (${origin}); what stands before /labels is the setting tracker.base_path`];
  const [, resource = ''] = operation.path.split('/');
  const digits = /\/(\d+)(?::|$)/.exec(message)?.[1];
  return LISTED.has(resource) && operation.path.split('/').length === 3
    ? [
        `opsctl tracker ${resource} list`,
        ...(digits === undefined ? [] : [`${digits} is an id; a name of digits is written name:${digits}`]),
      ]
    : [];
};
/** spec/tracker#errors-1: what the person who meets the refusal can do about it. */
export const explainedRefusal = (error: unknown, target: Target, operation?: Operation): unknown => {
  if (!(error instanceof AppError) || (error.detail.tryThis ?? []).length > 0) return error;
  const status = error.detail.httpStatus;
  const tryThis =
    status === 401
      ? unauthorized(target)
      : status === 403
        ? forbidden(error, target)
        : status === 404
          ? notFound(operation, error, target)
          : status === 409
            ? ['somebody else changed it meanwhile: look at it again, then repeat the change']
            : [];
  if (tryThis.length === 0) return error;
  return new AppError(error.category, error.message, {
    ...error.detail,
    tryThis,
    ...(error.cause === undefined ? {} : { cause: error.cause }),
  });
};
