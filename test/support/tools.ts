/** Programs that check an artifact. A machine that lacks one skips the test by name; CI fails, because .ci/run installs it. */
import { spawnSync } from 'node:child_process';

/** Why a test that needs the program is skipped, or undefined if the program runs here. */
export const missingTool = (name: string, args: readonly string[] = ['--version']): string | undefined => {
  const { error } = spawnSync(name, args, { stdio: 'ignore' });
  if (error === undefined) return undefined;
  if (process.env['OPSCTL_TEST_IN_CI'] === 'true')
    throw new Error(`${name} is missing: .ci/run installs it, so that CI skips no check of a release`);
  return `${name} is not installed`;
};
