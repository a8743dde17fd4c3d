// @ts-check
// A reporter next to the dots. It prints each failure immediately, so that an interrupted run has already reported it.
import { saidAtOnce } from './failures.mjs';

export default class FailedAtOnce {
  /** @param {Parameters<typeof saidAtOnce>[0]} test */
  onTestCaseResult(test) {
    const line = saidAtOnce(test);
    if (line !== undefined) process.stdout.write(`\n${line}\n`);
  }
}
