import { type Result, nothing, recordResult, rowsResult } from '../../core/result.ts';
import type { Values } from '../command.ts';
import { columnsOf } from './columns.ts';
import type { Row } from './row.ts';

const done = {
  create: 'created',
  update: 'changed',
  delete: 'deleted',
  enable: 'enabled',
  disable: 'disabled',
} as Readonly<Record<string, string>>;
const singular = (resource: string): string => resource.replace(/ies$/, 'y').replace(/s$/, '');
const messageOf = (resource: string, verb: string, answer: unknown, values: Values): string => {
  const id =
    (answer as { id?: unknown } | undefined)?.id ??
    values[singular(resource)] ??
    Object.values(values).find((v) => typeof v === 'number');
  const what = id === undefined && /able$/.test(verb) ? resource : singular(resource);
  return `${what}${id === undefined ? '' : ` ${id}`} ${done[verb] ?? `${verb}: done`}`;
};

/** What the service answered as a result: rows, a record, or only a message. */
export const resultOf = ({ resource, verb, operation }: Row, answer: unknown, values: Values): Result => {
  const view = { columns: columnsOf(operation) };
  if (answer === undefined) return nothing(messageOf(resource, verb, answer, values));
  if (Array.isArray(answer)) return rowsResult(answer, view);
  if (operation.method === 'GET') return recordResult(answer, view);
  return recordResult(answer, { ...view, message: messageOf(resource, verb, answer, values) });
};
