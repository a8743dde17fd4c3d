import { sh } from '../../../core/shell.ts';
import type { ShellScript } from '../../../core/shell.ts';
import type { Finished } from '../../../platform/host.ts';

/**
 * A script between two marks. A login shell reads start-up files that may print anything before it, on both streams: only what is
 * between the marks is the script's, and without the second mark the script did not come to its end.
 */
export const framed = (script: ShellScript, mark: string): ShellScript => sh`echo ${[mark]}
echo ${[mark]} >&2
(
${script}
) </dev/null
printf '\\n%s %d\\n' ${[mark]} $?
`;

export type Framed =
  | { readonly kind: 'whole'; readonly done: Finished }
  /** Nothing of the script ran: what the shell, sudo or ssh said instead. */
  | { readonly kind: 'not-begun' }
  | { readonly kind: 'cut' };

/** Pure. */
export const unframed = (done: Finished, mark: string): Framed => {
  const begin = `${mark}\n`;
  const at = done.stdout.indexOf(begin);
  if (at < 0) return { kind: 'not-begun' };
  const end = new RegExp(`\\n${mark} (\\d+)\\n$`).exec(done.stdout);
  if (end === null) return { kind: 'cut' };
  const stdout = done.stdout.slice(at + begin.length, end.index);
  const errorsAt = done.stderr.indexOf(begin);
  const stderr = errorsAt < 0 ? done.stderr : done.stderr.slice(errorsAt + begin.length);
  return {
    kind: 'whole',
    done: { ...done, code: Number(end[1]), signal: null, timedOut: false, stdout, stderr },
  };
};
