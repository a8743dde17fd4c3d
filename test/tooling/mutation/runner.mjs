// Controls the vitest process that runs the tests of a copy. A mutant may loop forever or fill the memory; the runner
// then kills the whole process group.
import { fork } from 'node:child_process';
import { join } from 'node:path';

const startMs = 120_000;

/** `env` contains additional environment variables for the vitest process. */
export const makeRunner = (copy, env = {}) => {
  let child;
  const message = (ms) =>
    new Promise((done) => {
      const finish = (answer) => {
        clearTimeout(timer);
        child.off('message', finish).off('exit', ended);
        done(answer);
      };
      const ended = () => finish(undefined);
      const timer = setTimeout(ended, ms);
      child.on('message', finish).on('exit', ended);
    });
  const stop = () => {
    try {
      if (child !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The process has already exited.
    }
    child = undefined;
  };
  const start = async () => {
    child = fork(join(copy, 'test/tooling/mutation/worker.mjs'), [], {
      cwd: copy,
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: {
        ...process.env,
        OPSCTL_SOAK: '',
        NO_COLOR: '1',
        NODE_OPTIONS: '--max-old-space-size=1024',
        ...env,
      },
    });
    await message(startMs);
  };
  let before = [];
  /** Returns the results of the tests, or undefined after a timeout. */
  const run = async ({ changed, tests, pattern, ms }) => {
    if (child === undefined) await start();
    const answer = message(ms);
    child.send({ changed: [...before, ...changed], tests, pattern });
    before = changed;
    const said = await answer;
    if (said === undefined) stop();
    return said;
  };
  return { run, stop };
};
