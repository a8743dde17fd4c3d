/** Invalid inputs of every group: the exit code, and a message with the field, the rule, the value and a hint. */
import { beforeAll, expect, test } from 'vitest';
import type { Argument, Flag } from '../../src/core/flag.ts';
import type { Command } from '../../src/cli/command.ts';
import { groups } from '../../src/commands/program.ts';
import { type Field, bare } from '../../src/core/field.ts';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

let home = '';
beforeAll(() => {
  home = makeDirectory();
});

type Wrong = { readonly argv: readonly string[]; readonly field: string; readonly value?: string };

/** Returns an invalid text for the field, which its message must repeat; undefined if any text is valid. */
const wrongValue = (field: Field): string | undefined => {
  const inner = bare(field);
  if (inner.type === 'array') return bare(inner.items).type === 'array' ? undefined : wrongValue(inner.items);
  if (inner.type === 'integer' || inner.type === 'number') return '1e3';
  if (inner.type === 'string' && inner.enum !== undefined && !inner.open) return 'nosuchword';
  if (inner.type === 'string' && inner.format !== undefined && inner.format !== 'int64') return 'not~valid';
  return undefined;
};

/** Returns a number just outside the range of its field. */
const outside = (field: Field): string | undefined => {
  const inner = bare(field);
  if (inner.type !== 'integer' && inner.type !== 'number') return undefined;
  if (inner.max !== undefined) return String(inner.max + 1);
  return inner.min === undefined ? undefined : String(inner.min - 1);
};

/** Returns a valid value, so that only the invalid value can fail. */
const goodValue = (field: Field): string => {
  const inner = bare(field);
  if (inner.type === 'array') return goodValue(inner.items);
  if (inner.type === 'integer' || inner.type === 'number') return String(inner.min ?? 1);
  if (inner.type === 'string' && inner.enum !== undefined) return inner.enum[0] ?? 'x';
  const byFormat: Record<string, string> = {
    uuid: '11111111-0000-4000-8000-000000000001',
    color: '#112233',
    date: '2026-01-02',
    datetime: '2026-01-02T00:00:00Z',
    url: 'https://example.com',
    duration: '5s',
    email: 'a@example.com',
  };
  return inner.type === 'string' && inner.format !== undefined ? (byFormat[inner.format] ?? 'x') : 'x';
};
const goodArguments = (args: readonly Argument[]): string[] =>
  args.filter(({ optional }) => !optional).map(({ field }) => goodValue(field));

const wrongFlags = ({ path, args = [], flags = {} }: Command): Wrong[] =>
  Object.entries(flags).flatMap(([name, flag]: [string, Flag]): Wrong[] => {
    const isRead = name !== 'output';
    if (!isRead || flag.hidden || bare(flag.field).type === 'boolean') return [];
    return [wrongValue(flag.field), outside(flag.field)].flatMap((value) =>
      value === undefined
        ? []
        : [{ argv: [...path, ...goodArguments(args), `--${name}=${value}`], field: `--${name}`, value }],
    );
  });
/** Puts an unknown flag before and between the names of the command path. */
const unknownFlags = ({ path }: Command): Wrong[] =>
  path.map((_, at) => ({
    argv: [...path.slice(0, at), '--nosuchflag', ...path.slice(at)],
    field: '--nosuchflag',
  }));
const wrongArguments = ({ path, args = [] }: Command): Wrong[] => {
  const required = args.filter(({ optional }) => !optional);
  const last = required.at(-1);
  const before = goodArguments(required.slice(0, -1));
  const value = last === undefined ? undefined : wrongValue(last.field);
  return [
    ...(last === undefined ? [] : [{ argv: [...path, ...before], field: `<${last.name}>` }]),
    ...(last === undefined || value === undefined
      ? []
      : [{ argv: [...path, ...before, value], field: `<${last.name}>`, value }]),
    ...(args.some(({ rest }) => rest)
      ? []
      : [
          {
            argv: [...path, ...args.map(({ field }) => goodValue(field)), 'surplus'],
            field: `argument ${args.length + 1}`,
          },
        ]),
  ];
};
const wrongGlobals = ({ path, args = [], flags = {} }: Command): Wrong[] =>
  [
    { argv: [...path, ...goodArguments(args), '--timeout', 'soon'], field: '--timeout', value: 'soon' },
    { argv: [...path, ...goodArguments(args), '--nosuchflag'], field: '--nosuchflag' },
  ].filter(({ field }) => !Object.hasOwn(flags, field.slice(2)));

type Answer = {
  readonly exit_code: number;
  readonly hint: string | null;
  readonly docs: string | null;
  readonly problems: readonly { readonly path: string; readonly rule: string; readonly message: string }[];
};
const faultOf = async ({ argv, field, value }: Wrong): Promise<string | undefined> => {
  const { code, stdout, stderr } = await opsctl([...argv, '-o', 'json'], { home });
  const line = `opsctl ${argv.join(' ')}`;
  if (code !== 2 || stdout !== '')
    return `${line}: exit ${code}, stdout ${JSON.stringify(stdout.slice(0, 80))}`;
  let answer: Answer;
  try {
    answer = JSON.parse(stderr) as Answer;
  } catch {
    return `${line}: the error is no JSON: ${stderr.slice(0, 120)}`;
  }
  const found = answer.problems.find(({ path }) => path === field);
  if (found === undefined) return `${line}: ${field} is not named: ${stderr.slice(0, 300)}`;
  if (found.rule === '' || found.message === '') return `${line}: no rule`;
  if (value !== undefined && !found.message.includes(value))
    return `${line}: the value is not named: ${found.message}`;
  if (answer.hint === null || answer.exit_code !== 2 || answer.docs === null)
    return `${line}: nothing to try`;
  return undefined;
};

test('invalid inputs of all groups exit with code 2 and name the field, the rule, the value and a hint', async () => {
  const commands = (await Promise.all(groups.map((group) => group.load())))
    .flat()
    .filter(({ hidden }) => !hidden);
  const all = commands.flatMap((command) => [
    ...wrongFlags(command),
    ...wrongArguments(command),
    ...wrongGlobals(command),
    ...unknownFlags(command),
  ]);
  const own = new Set(all.map(({ argv: [first = ''] }) => first).filter((word) => !word.startsWith('-')));
  expect(all.length).toBeGreaterThan(1500);
  expect([...own].sort()).toEqual(groups.map(({ name }) => name).sort());
  const faults: string[] = [];
  for (const wrong of all) {
    const fault = await faultOf(wrong);
    if (fault !== undefined) faults.push(fault);
  }
  expect(faults).toEqual([]);
});
