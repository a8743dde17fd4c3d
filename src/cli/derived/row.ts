import type { Operation, ServiceInfo } from '../../core/operation.ts';
import { bare } from '../../core/field.ts';
import type { Naming } from '../../tracker/names/naming.ts';

/** One row of a table, and the words of the command that is made from it. */
export type Row = {
  readonly service: ServiceInfo;
  readonly resource: string;
  readonly verb: string;
  readonly operation: Operation;
  readonly naming?: Naming;
};

export const hasOwnLimit = (operation: Operation): boolean =>
  operation.query?.limit !== undefined || operation.body?.limit !== undefined;
export const isList = ({ method, returns }: Operation): boolean =>
  method === 'GET' && returns !== undefined && bare(returns).type === 'array';
