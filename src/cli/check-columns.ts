import { type Field, bare } from '../core/field.ts';
import { nearest } from '../core/nearest.ts';
import { type Problem, invalidArguments, problem } from '../core/problem.ts';
import type { Command } from './command.ts';

/** What a column may name below this field: undefined for a value that holds anything. */
const fieldsOf = (field: Field): Readonly<Record<string, Field>> | undefined => {
  const inner = bare(field);
  if (inner.type === 'object') return inner.fields;
  return inner.type === 'any' || inner.type === 'map' || inner.type === 'file' ? undefined : {};
};

/** The first part of a dotted path that the answer cannot have. Pure. */
const unknownPart = (row: Field, column: string): { part: string; known: readonly string[] } | undefined => {
  let at: Field = row;
  for (const part of column.split('.')) {
    const inner = bare(at);
    if (inner.type === 'array' && /^\d+$/.test(part)) {
      at = inner.items;
      continue;
    }
    const fields = fieldsOf(inner);
    if (fields === undefined) return undefined;
    const next = Object.hasOwn(fields, part) ? fields[part] : undefined;
    if (next === undefined) return { part, known: Object.keys(fields) };
    at = next;
  }
  return undefined;
};

const columnProblem = (row: Field, column: string): Problem[] => {
  const wrong = unknownPart(row, column);
  if (wrong === undefined) return [];
  const close = nearest(wrong.part, wrong.known);
  const fixed = close && column.replace(wrong.part, close);
  return [
    problem(
      '--columns',
      'unknown',
      `names \`${column}\`, which the answer does not have`,
      fixed === undefined ? `it has ${wrong.known.slice(0, 12).join(', ')}` : `did you mean ${fixed}?`,
    ),
  ];
};

/** One row of the answer of a command made from a table. */
export const rowOf = ({ operation }: Command): Field | undefined => {
  const returns = operation?.operation.returns;
  if (returns === undefined) return undefined;
  const inner = bare(returns);
  if (inner.type === 'array') return inner.items;
  // A page of rows, which the command hands on row by row.
  if (inner.type !== 'object' || !Object.hasOwn(inner.fields, 'nextPageToken')) return inner;
  const pages = Object.values(inner.fields)
    .map(bare)
    .find(({ type }) => type === 'array');
  return pages?.type === 'array' ? pages.items : inner;
};

/** Before anything is sent: a column that no answer has. True when every column is known to be one. */
export const checkColumnNames = (command: Command, columns: readonly string[]): boolean => {
  const row = rowOf(command);
  if (row === undefined || fieldsOf(row) === undefined || bare(row).type !== 'object') return false;
  const problems = columns.flatMap((column) => columnProblem(row, column));
  if (problems.length > 0) throw invalidArguments(problems);
  return true;
};
