import { sh } from '../core/shell.ts';
import { usageError } from '../core/problem.ts';
import type { Key } from '../config/keys.ts';
import type { Context } from './command.ts';
import { firstLine } from '../api/input.ts';

type Given = { readonly value?: string | undefined; readonly stdin?: boolean | undefined };

/** The value of a setting: given with the command, typed at the terminal, or a line of standard input. */
export const readSettingValue = async (
  { host, isInteractive }: Context,
  key: Key,
  values: Given,
): Promise<string> => {
  if (values.value !== undefined) return values.value;
  if (!values.stdin && isInteractive)
    return host.terminal.prompts.text(`${key.key}:`, { secret: key.secret === true });
  if (!values.stdin)
    throw usageError(
      `${key.key}: no value is given`,
      [],
      [`opsctl config set ${key.key} ${key.secret ? '--stdin' : 'VALUE'}`],
    );
  const line = await firstLine(host);
  if (line !== undefined) return line.trim();
  throw usageError(
    `${key.key}: stdin is empty`,
    [],
    [String(sh`printf %s "$VALUE" | opsctl config set ${[key.key]} --stdin`)],
  );
};
