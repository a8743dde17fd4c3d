// What the compiler says of a change: `npm run check` begins with it, so what does not compile is noticed.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** `refusal`: the first error of the tree as it is now; undefined when it compiles. Only what a change touches is looked at again. */
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
        '.',
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
