import { type Field, type Fields, bare, list, req } from '../../core/field.ts';
import type { Operation } from '../../core/operation.ts';

type Rows = { readonly create?: Operation; readonly update: Operation };

/**
 * The fields of one list of a workspace file, taken from the rows that will carry them: what the file allows is what both the
 * create and the update take, so that no value is found wrong half-way through an apply. Names by which entries are told apart
 * are required.
 */
export const fieldsOfRows = ({ create, update }: Rows, names: readonly string[]): Fields =>
  Object.fromEntries(
    names.map((name): [string, Field] => {
      const made = create?.body?.[name];
      const changed = update.body?.[name];
      const field = changed ?? made;
      if (field === undefined) throw new Error(`neither ${update.path} nor its create has ${name}`);
      return [name, made?.required || name === 'name' ? req(field) : field];
    }),
  );

/** A list of names that stand for inputs or ids: each name has the limits of the record that it names. */
export const namesOfRecords = (named: Operation, key: string): Field => {
  const field = named.body?.[key];
  if (field === undefined) throw new Error(`${named.path} has no ${key}`);
  const { required: _, ...name } = bare(field) as Field & { required?: true };
  return list(name as Field);
};
