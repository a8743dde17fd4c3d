// A reporter beside the dots: what failed is said at once, so that a run which is ended before its end has said it too.
import { saidAtOnce } from './failures.mjs';

export default class FailedAtOnce {
  onTestCaseResult(test) {
    const line = saidAtOnce(test);
    if (line !== undefined) process.stdout.write(`\n${line}\n`);
  }
}
