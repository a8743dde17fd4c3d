import { test } from 'vitest';
import { expectEachEffectMayFail } from '../../../support/failing-effects.ts';
import { upgradeBed } from '../../../support/traced-cluster.ts';

const hour = 3_600_000;
/** The soak tries every effect; each run the same few of them. */
const seed = 1;

test('an upgrade survives the failure of each effect: all members reach the new version, one at a time', {
  timeout: hour,
}, async () => {
  await expectEachEffectMayFail(upgradeBed(), 15, seed);
});
test('a restart survives the failure of each effect', { timeout: hour }, async () => {
  await expectEachEffectMayFail(upgradeBed('restart'), 5, seed);
});
test('a downgrade survives the failure of each effect', { timeout: hour }, async () => {
  await expectEachEffectMayFail(upgradeBed('downgrade'), 5, seed);
});
