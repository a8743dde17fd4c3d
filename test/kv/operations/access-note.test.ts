import { expect, it } from 'vitest';
import { accessWith } from '../../../src/kv/engine/access.ts';
import { performOperation } from '../../../src/kv/operations/perform.ts';
import { STATE } from '../../support/small-cluster.ts';
import {
  defragWork,
  offlineWork,
  replaceWork,
  traceOperation,
  type Work,
} from '../../support/traced-operation.ts';

/** How many checks of access are skipped because nobody recorded the access before. */
const skippedIn = async ({ small, plan, acts }: Work): Promise<number> => {
  const { host, cluster, driver } = small;
  const said: string[] = [];
  const { error } = await performOperation({
    ...{ host, state: STATE, cluster, driver, plan, acts: acts(traceOperation(small)), hasCanary: false },
    ...{ access: accessWith(host, undefined, undefined), signal: new AbortController().signal },
    say: (text) => said.push(text),
  });
  expect(error).toBeUndefined();
  return said.filter((text) => /\baccess\b.*skipped/.test(text)).length;
};
it.each<[string, () => Promise<Work>, number]>([
  ['that restarts nothing', defragWork, 0],
  ['that starts one member', replaceWork, 1],
  ['that starts all members in one step', offlineWork, 3],
])('an operation %s skips the check of access for each started member', async (_, make, count) => {
  expect(await skippedIn(await make())).toBe(count);
});
