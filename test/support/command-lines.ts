/** Valid command lines, made from the list of the commands. */
import type { Command } from '../../src/cli/command.ts';
import { groups } from '../../src/commands/program.ts';
import { type Field, bare } from '../../src/core/field.ts';
import { type Flag, flagName } from '../../src/core/flag.ts';

const byFormat: Readonly<Record<string, string>> = {
  uuid: '11111111-0000-4000-8000-000000000001',
  color: '#112233',
  date: '2026-01-02',
  datetime: '2026-01-02T00:00:00Z',
  url: 'https://example.com',
  duration: '5s',
  email: 'a@example.com',
  int64: '1',
};
export const goodValue = (field: Field): string => {
  const inner = bare(field);
  if (inner.type === 'array') return goodValue(inner.items);
  if (inner.type === 'boolean') return 'true';
  if (inner.type === 'integer' || inner.type === 'number') return String(inner.min ?? 1);
  if (inner.type !== 'string') return '{}';
  return inner.enum?.[0] ?? byFormat[inner.format ?? ''] ?? 'x';
};
export const fieldsOf = ({ operation }: Command): [string, Field][] =>
  Object.entries({ ...operation?.operation.query, ...operation?.operation.body });
export const requiredFlags = (command: Command): string[] => [
  ...new Set([
    ...Object.entries(command.flags ?? {}).flatMap(([name, flag]: [string, Flag]) =>
      flag.required || flag.field.required ? [name] : [],
    ),
    ...fieldsOf(command).flatMap(([name, field]) =>
      field.required && command.flags?.[flagName(name)] ? [flagName(name)] : [],
    ),
  ]),
];
/** Returns a complete command line without the flags in `but`. */
export const goodLine = (command: Command, but: readonly string[] = []): string[] => [
  ...command.path,
  ...(command.args ?? []).filter(({ optional }) => !optional).map(({ field }) => goodValue(field)),
  ...requiredFlags(command)
    .filter((name) => !but.includes(name))
    .map((name) => `--${name}=${goodValue(command.flags?.[name]?.field ?? { type: 'string' })}`),
];
export const listCommands = async (): Promise<readonly Command[]> =>
  (await Promise.all(groups.map((group) => group.load()))).flat().filter(({ hidden }) => !hidden);
