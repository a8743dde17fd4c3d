import { type Fields, int, req, str } from '../../core/field.ts';
import { type Service, operations } from '../../core/operation.ts';
import type { Command } from '../command.ts';
import type { Argument, Flag } from '../../core/flag.ts';
import { flagsOf } from '../../core/field-flags.ts';
import { type Naming, namedFlags } from '../../tracker/names/naming.ts';
import { argumentName } from '../../core/input.ts';
import { type Row, hasOwnLimit, isList } from './row.ts';
import { run } from './run.ts';

const argumentsOf = (params: Fields | undefined, naming: Naming | undefined): Argument[] =>
  Object.entries(params ?? {}).map(([name, field]) => {
    const kind = naming?.paramKind(name);
    const about =
      kind === undefined
        ? (field.summary ?? '')
        : `${field.summary ?? argumentName(name)}, by name or id (a name of digits: name:120)`;
    return {
      name: argumentName(name),
      effects: [],
      field: kind === undefined ? field : req(str()),
      summary: about,
      complete: kind ?? argumentName(name),
    };
  });

const flagsFor = ({ operation, naming }: Row): Record<string, Flag> => {
  const flags = flagsOf([
    { fields: operation.query ?? {}, part: 'query' },
    { fields: operation.body ?? {}, part: 'body' },
  ]);
  if (isList(operation) && !hasOwnLimit(operation))
    flags.limit = { field: int({ min: 1 }), summary: 'Rows at most (default all)', value: 'number' };
  return naming ? namedFlags(naming, flags, { ...operation.query, ...operation.body }) : flags;
};

/** One command of one row: `tracker labels create`. Flags and arguments are made when somebody asks for them. */
export const commandFrom = (row: Row): Command => {
  const { service, resource, verb, operation, naming } = row;
  let flags: Record<string, Flag> | undefined;
  return {
    path: [service.name, ...resource.split(' '), operation.cli?.verb ?? verb],
    summary: operation.summary,
    get args() {
      return argumentsOf(operation.params, naming);
    },
    get flags() {
      flags ??= flagsFor(row);
      return flags;
    },
    examples: (operation.cli?.examples ?? []).map((line) => ({ line, says: operation.summary })),
    ...(operation.deprecated === undefined ? {} : { deprecated: operation.deprecated }),
    operation: { service, operation },
    run: run(row),
  };
};

/** `customFields` and `epic_states` as words of a command. */
export const kebab = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();

/** All commands of a service, in table order; rows marked hidden have a hand-written command. */
export const commandsFrom = (service: Service, naming?: Naming): Command[] =>
  operations(service.table)
    .filter(({ operation }) => !operation.cli?.hidden)
    .map(({ resource, verb, operation }) =>
      commandFrom({
        service,
        resource: kebab(resource),
        verb: kebab(verb),
        operation,
        ...(naming ? { naming } : {}),
      }),
    );
