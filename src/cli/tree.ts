import type { Argument, Command, Flag, Flags } from './command.ts';
import { bare } from '../core/field.ts';
import { globalFlags } from './globals.ts';
import { groups } from './manifest.ts';

/** One command for TAB: `v` values of a flag, `c` the word that names a source of values (a cache file, files). */
export type TreeFlag = {
  readonly v?: readonly string[];
  readonly c?: string;
  readonly s?: string;
  readonly t?: true;
};
export type Tree = {
  readonly summary?: string;
  readonly sub?: { [word: string]: Tree };
  readonly flags?: Readonly<Record<string, TreeFlag>>;
  /** For each place its values, or the word that names a source of them. */
  readonly args?: readonly (string | readonly string[])[];
};

const treeFlag = (flag: Flag): TreeFlag => {
  const field = bare(flag.field);
  const allowed =
    field.type === 'string'
      ? field.enum
      : field.type === 'array'
        ? (bare(field.items) as { enum?: readonly string[] }).enum
        : undefined;
  const values = allowed ?? flag.suggest;
  return {
    ...(field.type === 'boolean' ? { t: true as const } : {}),
    ...(values ? { v: values } : {}),
    ...(flag.complete && !values ? { c: flag.complete } : {}),
    ...(flag.short ? { s: flag.short } : {}),
  };
};
const treeFlags = (flags: Flags): Record<string, TreeFlag> =>
  Object.fromEntries(
    Object.entries(flags)
      .filter(([, f]) => !f.hidden)
      .map(([name, flag]) => [flag.negated ? `no-${name}` : name, treeFlag(flag)]),
  );

const treeArgument = ({ field, complete, name }: Argument): string | readonly string[] => {
  const { enum: values } = bare(field) as { readonly enum?: readonly string[] };
  return values ?? complete ?? name;
};

const place = (root: { sub: { [word: string]: Tree } }, command: Command): void => {
  let at: { sub?: { [word: string]: Tree } } = root;
  for (const word of command.path.slice(0, -1)) {
    at.sub ??= {};
    at = at.sub[word] ??= { sub: {} };
  }
  at.sub ??= {};
  at.sub[command.path.at(-1) ?? ''] = {
    ...at.sub[command.path.at(-1) ?? ''],
    summary: command.summary,
    flags: treeFlags(command.flags ?? {}),
    ...(command.args?.length ? { args: command.args.map(treeArgument) } : {}),
  };
};

/** The whole command tree as data, for completion. Loads every group: only the build and the tests do that. */
export const commandTree = async (): Promise<{
  global: Record<string, TreeFlag>;
  sub: { [word: string]: Tree };
}> => {
  const root = { global: treeFlags(globalFlags), sub: {} as { [word: string]: Tree } };
  for (const group of groups) {
    root.sub[group.name] = { summary: group.summary };
    for (const command of await group.load()) if (!command.hidden) place(root, command);
    const made = root.sub[group.name];
    if (made) root.sub[group.name] = { ...made, summary: group.summary };
  }
  return root;
};
