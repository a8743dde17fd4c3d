import { type Field, bare } from '../../core/field.ts';
import type { Operation } from '../../core/operation.ts';

const scalar = (field: Field): boolean =>
  !['object', 'array', 'map', 'any', 'ref', 'file'].includes(field.type);

/** Columns of a table view: the row's own, else the first scalars of the record. */
export const columnsOf = (operation: Operation): readonly string[] | undefined => {
  if (operation.cli?.columns) return operation.cli.columns;
  const returns = operation.returns && bare(operation.returns);
  const row = returns?.type === 'array' ? bare(returns.items) : returns;
  if (row?.type !== 'object') return undefined;
  return Object.entries(row.fields)
    .filter(([, field]) => scalar(bare(field)))
    .map(([name]) => name)
    .slice(0, 5);
};
