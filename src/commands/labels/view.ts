import { type OutputFormat, formatRow } from '../../core/format.ts';
import type { Field } from '../../core/field.ts';
import type { Operation } from '../../core/operation.ts';
import { type Result, nothing } from '../../core/result.ts';
import type { LabelJson } from '../../labels/api-types.ts';

const nameOf = (field: Field | undefined): string | undefined =>
  field?.type === 'object' ? field.name : undefined;
type Delta = { readonly responses?: readonly object[]; readonly updatedLabel?: LabelJson };

const withText = async (label: LabelJson | undefined, before = ''): Promise<string> => {
  const { labelText } = await import('../../labels/from-label.ts');
  return before + (label === undefined ? '' : labelText(label));
};

/** What an edit made, with the ids that later edits need: `createField: Wk3xPq9Zab, position 2`. */
const madeBy = ({ responses = [] }: Delta): string =>
  responses
    .map((response) => {
      const [[kind = 'edit', answer = {}] = []] = Object.entries(response) as [
        string,
        { id?: string; priority?: number },
      ][];
      const parts = [
        answer.id ?? '',
        answer.priority === undefined ? '' : `position ${answer.priority}`,
      ].filter((part) => part !== '');
      return `  ${kind}${parts.length === 0 ? '' : `: ${parts.join(', ')}`}\n`;
    })
    .join('');

/**
 * Shows a result for people and pipes: a label is drawn on a terminal (a table of its keys would be pages of
 * JSON), -o name prints resource names, and an empty result prints only as JSON.
 */
export const viewAnswer = async (
  operation: Operation,
  format: OutputFormat,
  result: Result,
): Promise<Result> => {
  if (result.kind !== 'record') return result;
  const { data } = result;
  const view = { ...result.view, name: 'name' };
  switch (nameOf(operation.returns)) {
    case 'Label':
      return { ...result, view: { ...view, text: await withText(data as LabelJson) } };
    case 'DeltaUpdateLabelResponse':
      return {
        ...result,
        view: {
          ...view,
          name: 'updatedLabel.name',
          text: await withText((data as Delta).updatedLabel, madeBy(data as Delta)),
        },
      };
    case 'BatchUpdateLabelPermissionsResponse':
      if (!formatRow(format).isByRow) return result;
      return {
        kind: 'rows',
        rows: (data as { permissions?: unknown[] }).permissions ?? [],
        view: { ...view, columns: permissionColumns },
      };
    case 'Empty':
      return formatRow(format).isNested ? result : nothing(result.view?.message?.toString());
    default:
      return { ...result, view };
  }
};

const permissionColumns = ['name', 'role', 'email', 'person', 'group', 'audience'];
