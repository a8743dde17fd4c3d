import { isAbsolute, relative, resolve } from 'node:path';
import { effectsOf } from '../read-only.ts';
import { type Field, bare } from '../../core/field.ts';
import { type Problem, invalidArguments, problem } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import type { Parameter, Tool } from './tools.ts';

export type ToolArguments = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What a value of this kind is called, and whether this is one. The command itself checks the rest. */
const kindOf = (field: Field): readonly [string, (value: unknown) => boolean] => {
  const inner = bare(field);
  switch (inner.type) {
    case 'string':
    case 'file':
      return ['a string', (value) => typeof value === 'string'];
    case 'integer':
      return ['a whole number', Number.isSafeInteger];
    case 'number':
      return ['a number', Number.isFinite];
    case 'boolean':
      return ['true or false', (value) => typeof value === 'boolean'];
    case 'array': {
      const [, isItem] = kindOf(inner.items);
      return ['a list', (value) => Array.isArray(value) && value.every(isItem)];
    }
    case 'any':
      return ['a JSON value', () => true];
    default:
      return ['an object', isObject];
  }
};

const text: Field = { type: 'string' };
/** The body of a request may also come as the object itself. */
const mayBeObject = ({ command }: Tool, name: string): boolean =>
  name === 'body' && command.operation !== undefined;

/** Free text for the service may start with any character. */
const isFreeText = (tool: Tool, { part }: Parameter): boolean =>
  !tool.isReading && !('name' in part) && tool.command.operation !== undefined && part.effects?.length === 0;

const textProblem = (tool: Tool, one: Parameter, value: string): Problem | undefined => {
  const doesRead = effectsOf(one.part)?.includes('reads') === true;
  if (value.includes('\0')) return problem(one.name, 'format', 'must not contain a zero byte');
  if (one.name === 'body' && /^[@-]/.test(value))
    return problem(one.name, 'rule', 'is the JSON itself, not a file or standard input');
  if (value.startsWith('-') && !isFreeText(tool, one))
    return problem(
      one.name,
      'rule',
      'must not start with a dash',
      doesRead ? 'write ./ before the name of a file' : 'write a space before it, or name: before a name',
    );
  if (doesRead && value.startsWith('@'))
    return problem(one.name, 'rule', 'must not start with @', 'write ./ before the name of a file');
  return undefined;
};

const valueProblems = (tool: Tool, one: Parameter, value: unknown): Problem[] => {
  if (value === null && one.part.field.nullable === true) return [];
  const [kind, isKind] = kindOf(one.part.field);
  if (!isKind(value) && !(mayBeObject(tool, one.name) && isObject(value)))
    return [problem(one.name, 'type', `must be ${kind}; got ${JSON.stringify(value)?.slice(0, 60)}`)];
  return [value].flat().flatMap((item) => {
    if (typeof item !== 'string') return [];
    return textProblem(tool, one, item) ?? [];
  });
};

const startUpFlag = (tool: Tool, name: string, sharedFlags: readonly string[]): string => {
  if (sharedFlags.includes(name)) return `opsctl mcp --${name} VALUE`;
  const declared = tool.command.flags?.[name] ?? tool.command.args?.find((one) => one.name === name);
  if (declared === undefined) return '';
  return `opsctl mcp --set ${tool.name}.${name}=VALUE`;
};

/**
 * An argument that a call must not contain: an unknown one, or one that can only be set when the server
 * starts.
 */
const refusedName = (tool: Tool, name: string, sharedFlags: readonly string[]): Problem => {
  const start = startUpFlag(tool, name, sharedFlags);
  const known = tool.offered.map((one) => one.name).join(', ');
  return problem(
    name,
    'unknown',
    'is not an argument of this tool',
    start === ''
      ? `it has ${known === '' ? 'no arguments' : known}`
      : `the person who starts the server may fix it: ${start}`,
  );
};

/** Throws unless the call contains only offered arguments with values of the right kind. Pure. */
export const checkArguments = (tool: Tool, given: ToolArguments, sharedFlags: readonly string[]): void => {
  const additional: Parameter = {
    name: tool.isReading ? 'jq' : 'approval',
    part: { field: text, summary: '', effects: [] },
  };
  const known = new Map([...tool.offered, additional].map((one) => [one.name, one]));
  const problems = Object.keys(given).flatMap((name) => {
    const one = known.get(name);
    return one === undefined ? [refusedName(tool, name, sharedFlags)] : valueProblems(tool, one, given[name]);
  });
  const required = (tool.inputSchema.required as readonly string[]).filter(
    (name) => !Object.hasOwn(given, name),
  );
  problems.push(...required.map((name) => problem(name, 'required', 'is required')));
  if (problems.length > 0) throw invalidArguments(problems);
};

const textOf = (value: unknown): string =>
  typeof value === 'object' ? JSON.stringify(value) : String(value);

const positional = ({ command, fixed }: Tool, given: ToolArguments): string[] => {
  const values = (command.args ?? []).map(({ name }) => [name, fixed[name] ?? given[name]] as const);
  const last = values.findLastIndex(([, value]) => value !== undefined);
  const gap = values.slice(0, Math.max(0, last)).find(([, value]) => value === undefined);
  if (gap !== undefined)
    throw invalidArguments([problem(gap[0], 'required', `is required with ${values[last]?.[0]}`)]);
  return values.flatMap(([, value]) => (value === undefined ? [] : [value].flat().map(textOf)));
};

/** A checked call as words of a command line: flags with their values in one word, arguments behind `--`. Pure. */
export const argvOf = (tool: Tool, given: ToolArguments): string[] => {
  const isArgument = (name: string) => (tool.command.args ?? []).some((one) => one.name === name);
  const words = Object.entries({ ...given, ...tool.fixed }).flatMap(([name, value]) =>
    isArgument(name) || value === undefined ? [] : [`--${name}=${textOf(value)}`],
  );
  const places = positional(tool, given);
  return [...tool.command.path, ...words, ...(places.length === 0 ? [] : ['--', ...places])];
};

const isInside = (directory: string, path: string): boolean => {
  const way = relative(directory, path);
  return way === '' || (!way.startsWith('..') && !isAbsolute(way));
};

/** The call with the real paths of its files, each of which is below one of the directories. */
export const withRealPaths = async (
  { files, cwd }: Host,
  directories: readonly string[],
  tool: Tool,
  given: ToolArguments,
): Promise<ToolArguments> => {
  const real = async (name: string, path: unknown): Promise<unknown> => {
    const found = await files.realPath(resolve(cwd, String(path)));
    if (found !== undefined && directories.some((directory) => isInside(directory, found))) return found;
    throw invalidArguments([
      problem(name, 'rule', `names ${String(path)}, which is not in ${directories.join(' or ')}`),
    ]);
  };
  const entries = Object.entries(given).map(async ([name, value]) => {
    const one = tool.offered.find((parameter) => parameter.name === name);
    if (name === 'body' || one === undefined || effectsOf(one.part)?.includes('reads') !== true)
      return [name, value];
    return [
      name,
      Array.isArray(value)
        ? await Promise.all(value.map((item) => real(name, item)))
        : await real(name, value),
    ];
  });
  return Object.fromEntries(await Promise.all(entries));
};
