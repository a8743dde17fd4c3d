import { formatRow } from '../../core/output-format.ts';
import type { Operation } from '../../core/operation.ts';
import { systemQuery } from '../../api-specs/labels/system.ts';
import type { Context, Values } from '../../cli/command.ts';
import { isUnderRevision, paged, takesPin } from './row-kinds.ts';

/** What the short view has of a label (spec/labels#parameters). */
const SHORT_VIEW: ReadonlySet<string> = new Set(['name', 'id', 'revisionId', 'labelType', 'properties']);
/** The state of a label is in the full view only: a person wants to see it, and a script may name such a column. */
const needsFullView = ({ format, columns }: Context): boolean =>
  columns === undefined
    ? formatRow(format).isForPeople === true
    : columns.some((column) => !SHORT_VIEW.has(column.split('.')[0] ?? ''));

const pinFor = (operation: Operation, values: Values): Record<string, unknown> => {
  const { revision } = values;
  if (revision === undefined || !takesPin(operation) || isUnderRevision(operation)) return {};
  return operation.body?.writeControl
    ? { 'write-control': { requiredRevisionId: revision } }
    : { 'write-control.required-revision-id': revision };
};

const propertiesFor = ({ bodyName }: Operation, values: Values): Record<string, unknown> => {
  const { title, description } = values;
  if (bodyName !== 'Label' || (title ?? description) === undefined) return {};
  const given = values.properties ?? (values.body as { properties?: object } | undefined)?.properties;
  const short = {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
  };
  return { properties: { ...(given as object | undefined), ...short } };
};

/** `--admin`, `--revision`, `--title` as the members that the row has for them. */
export const longForm = (operation: Operation, values: Values, context: Context): Values => {
  const hasView = (operation.query?.view ?? operation.body?.view) !== undefined;
  return {
    ...values,
    ...(hasView && values.view === undefined && needsFullView(context) ? { view: 'LABEL_VIEW_FULL' } : {}),
    ...(values.admin === undefined ? {} : { 'use-admin-access': values.admin }),
    ...pinFor(operation, values),
    ...propertiesFor(operation, values),
  };
};

/** `--fields` of a read: a member of every method that no row has, so that bodies with fields of their own keep the name. */
export const selecting = (operation: Operation, values: Values): { operation: Operation; values: Values } => {
  const { fields } = values;
  if (operation.method !== 'GET' || typeof fields !== 'string') return { operation, values };
  // Without the token a list would end after its first page (spec/labels#clients-2).
  const whole =
    paged(operation) && !/(^|,)\s*(nextPageToken|\*)\s*(,|$)/.test(fields)
      ? `${fields},nextPageToken`
      : fields;
  return {
    operation: { ...operation, query: { ...operation.query, fields: systemQuery.fields } },
    values: { ...values, fields: whole },
  };
};
