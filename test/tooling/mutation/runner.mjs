// @ts-check
// Controls the vitest process that runs the tests of a copy. A mutant may loop forever or fill the memory; the runner
// then kills the whole process group.
import { fork } from 'node:child_process';
import { join } from 'node:path';

const startMs = 120_000;
/**
 * The files that changed since the last request, and the tests to run.
 * @typedef {object} Request
 * @property {readonly string[]} changed
 * @property {readonly string[]} tests
 * @property {string} [pattern] A pattern of titles.
 * @property {number} ms The time limit.
 */
/**
 * The results of a request, as the worker sends them.
 * @typedef {object} Results
 * @property {boolean} isPassed
 * @property {string} [why] The first message of a failure.
 * @property {string} [by] The test that failed first.
 * @property {readonly { readonly test: string, readonly isPassed: boolean, readonly ms: number }[]} modules
 */

/**
 * `env` contains additional environment variables for the vitest process.
 * @param {string} copy @param {Readonly<Record<string, string>>} env
 */
export const makeRunner = (copy, env = {}) => {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  let child;
  /**
   * Returns the next message of the worker, or undefined after a timeout or the end of the worker.
   * @param {import('node:child_process').ChildProcess} from @param {number} ms
   * @returns {Promise<Results | undefined>}
   */
  const message = (from, ms) =>
    new Promise((done) => {
      /** @param {Results | undefined} answer */
      const finish = (answer) => {
        clearTimeout(timer);
        from.off('message', finish).off('exit', ended);
        done(answer);
      };
      const ended = () => finish(undefined);
      const timer = setTimeout(ended, ms);
      from.on('message', finish).on('exit', ended);
    });
  const stop = () => {
    try {
      if (child?.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The process has already exited.
    }
    child = undefined;
  };
  const start = async () => {
    const started = fork(join(copy, 'test/tooling/mutation/worker.mjs'), [], {
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
    child = started;
    await message(started, startMs);
    return started;
  };
  /** @type {readonly string[]} */
  let before = [];
  /**
   * Returns the results of the tests, or undefined after a timeout.
   * @param {Request} request
   */
  const run = async ({ changed, tests, pattern, ms }) => {
    const worker = child ?? (await start());
    const answer = message(worker, ms);
    worker.send({ changed: [...before, ...changed], tests, pattern });
    before = changed;
    const said = await answer;
    if (said === undefined) stop();
    return said;
  };
  return { run, stop };
};
