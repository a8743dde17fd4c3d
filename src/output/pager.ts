import type { Host } from '../platform/host.ts';
import type { OutputOptions } from './types.ts';

const USUAL_ROWS = 24;

/**
 * The pager of this run, by git's rules: only on a terminal, and OPSCTL_PAGER beats PAGER beats `less`. Empty
 * or `cat` disables it. There is no pager in CI, where it would hang, or on a terminal that cannot move its
 * cursor.
 */
export const pagerOf = (
  { terminal, env }: Pick<Host, 'terminal' | 'env'>,
  { pager }: Pick<OutputOptions, 'pager'>,
): string | undefined => {
  if (pager === false || !terminal.stdout.isTty || !terminal.stdin.isTty || env.CI || env.TERM === 'dumb')
    return undefined;
  const command = (env.OPSCTL_PAGER ?? env.PAGER ?? 'less').trim();
  return command === '' || command === 'cat' ? undefined : command;
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours take no place
const COLOURS = /\u001b\[[0-9;]*m/g;

/** The number of terminal lines of a text; longer lines wrap. */
const linesOn = (text: string, columns: number): number =>
  text
    .replace(COLOURS, '')
    .split('\n')
    .reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / columns)), 0);

/** Writes a whole text: through the pager when it is longer than the screen. */
export const writePaged = async (text: string, host: Host, options: OutputOptions): Promise<void> => {
  const { stdout, page } = host.terminal;
  const command = pagerOf(host, options);
  const isLong = command !== undefined && linesOn(text, stdout.columns) > (stdout.rows ?? USUAL_ROWS);
  if (isLong && page !== undefined && (await page(command, text))) return;
  await stdout.write(text);
};
