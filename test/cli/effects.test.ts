/** Every flag and argument of every command declares what its value does. */
import { describe, expect, it } from 'vitest';
import { bare } from '../../src/core/field.ts';
import type { Argument, Flag } from '../../src/core/flag.ts';
import type { Command } from '../../src/cli/command.ts';
import { effectsOf } from '../../src/cli/read-only.ts';
import { globalFlags } from '../../src/cli/options.ts';
import { groups } from '../../src/commands/program.ts';
import { mayRead } from '../../src/cli/mcp/tools.ts';

const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
type Part = { readonly at: string; readonly name: string; readonly part: Flag | Argument };
const partsOf = (command: Command): Part[] => [
  ...(command.args ?? []).map((part) => ({
    at: `${command.path.join(' ')} <${part.name}>`,
    name: part.name,
    part,
  })),
  ...Object.entries(command.flags ?? {}).map(([name, part]) => ({
    at: `${command.path.join(' ')} --${name}`,
    name,
    part,
  })),
];
const undeclared = (parts: readonly Part[]): string[] =>
  parts.filter(({ part }) => effectsOf(part) === undefined).map(({ at }) => at);

const NAMES =
  /(^|-)(file|out|cluster|ctl|server|binary|program|command|exec|dir|directory|report|har|record|replay|journal|bundle|seed|plan|snapshot|rules|cacert|cert|key|config|endpoints?|issuer|urls?|notify|prometheus|upstream|forward|body|web|edit|editor|stdin|secret|password|reveal)(-|$)/;
const VALUES = /file|path|directory|program|url|command|\.json|\.yaml|@|(^|\|)-$/;
const looksDangerous = ({ name, part }: Part): boolean =>
  NAMES.test(name) ||
  part.complete === 'file' ||
  part.field.type === 'file' ||
  ('value' in part && part.value !== undefined && VALUES.test(part.value)) ||
  /standard input|stdin|browser|\$EDITOR/i.test(part.summary);

describe('declared effects', () => {
  it('flags and arguments that name a file, a program or an address declare effects', () => {
    const parts = commands.flatMap(partsOf).filter(looksDangerous);
    expect(parts.length).toBeGreaterThan(300);
    expect(undeclared(parts)).toEqual([]);
  });
  it('every text and switch of a command that only reads declares effects', () => {
    expect(undeclared(commands.filter(mayRead).flatMap(partsOf))).toEqual([]);
  });
  it('every global flag declares effects', () => {
    const parts = Object.entries(globalFlags).map(([name, part]) => ({ at: `--${name}`, name, part }));
    expect(undeclared(parts)).toEqual([]);
  });
  it('flags that name a file to complete read, write or run something', () => {
    const parts = commands
      .flatMap(partsOf)
      .filter(({ part }) => part.complete === 'file' && bare(part.field).type !== 'integer');
    expect(parts.filter(({ part }) => (part.effects ?? []).length === 0).map(({ at }) => at)).toEqual([]);
  });
});
