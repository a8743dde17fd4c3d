// @ts-check
// A reporter next to the dots. It prints each failure immediately, so that an interrupted run has already reported it, and
// at the end the files that needed the most CPU time.
import { mostCpu, saidAtOnce } from './failures.mjs';

export default class FailedAtOnce {
  /** @param {Parameters<typeof saidAtOnce>[0]} test */
  onTestCaseResult(test) {
    const line = saidAtOnce(test);
    if (line !== undefined) process.stdout.write(`\n${line}\n`);
  }
  /** @param {Parameters<typeof mostCpu>[0]} modules */
  onTestRunEnd(modules) {
    process.stdout.write(`\n${mostCpu(modules, Number(process.env.OPSCTL_TEST_CPU ?? 12))}\n`);
  }
}
