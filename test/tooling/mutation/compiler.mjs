// @ts-check
// Checks a change with the compiler. `npm run check` starts with the compiler, so a change that does not compile counts
// as detected.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/**
 * `refusal` is the first error of the current tree, or undefined if the tree compiles. The compiler rechecks only the
 * files that a change affects.
 * @type {typeof import('./compiler.mjs').makeCompiler}
 */
export const makeCompiler = (copy) => {
  const compile = () => {
    const { status, stdout } = spawnSync(
      join(copy, 'node_modules/.bin/tsc'),
      [
        '--noEmit',
        '--incremental',
        '--tsBuildInfoFile',
        'mutants.tsbuildinfo',
        '-p',
        'src',
        '--pretty',
        'false',
      ],
      { cwd: copy, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
    );
    return status === 0 ? undefined : (stdout.split('\n')[0] ?? `tsc ended with ${status}`);
  };
  let isReady = false;
  return {
    refusal: (put, restore) => {
      if (!isReady) {
        const without = compile();
        if (without !== undefined) throw new Error(`the tree does not compile without a change: ${without}`);
        isReady = true;
      }
      put();
      try {
        return compile();
      } finally {
        restore();
      }
    },
  };
};
