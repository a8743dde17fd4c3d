import { AppError } from '../../../core/problem.ts';
import { assertTrustedProgram } from '../../../platform/trust.ts';
import { filled } from '../cluster/command-line.ts';
import { memberOf } from '../run.ts';
import type { Run } from '../run.ts';

const hookMs = 600_000;
/** Hooks of the operator's own, on the operator's machine. One that fails stops the run: it was put there for a reason. */
export const runHook = async (
  run: Run,
  name: 'before_member' | 'after_member',
  member: string,
): Promise<void> => {
  const line = run.cluster.hooks?.[name];
  if (line === undefined) return;
  const spec = memberOf(run, member);
  const [command, ...words] = filled(line, {
    name: member,
    client_url: spec.client_url,
    data_dir: spec.data_dir,
    host: spec.host,
    to: run.plan.to,
  });
  await assertTrustedProgram(run.host, `the hook ${name}`, [command as string, ...words]);
  const done = await run.host.processes.run(command as string, words, { timeoutMs: hookMs });
  if (done.code === 0) return;
  const said = done.startError ?? done.stderr.trim().split('\n').at(-1) ?? '';
  throw new AppError(
    'stopped',
    `${member}: hook ${name} failed${said === '' ? ` (exit code ${done.code})` : `: ${said}`}`,
    { code: 'HOOK_FAILED' },
  );
};
