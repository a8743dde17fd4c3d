/** For all tests: the property library uses the seed of the run. */
import fc from 'fast-check';

/** The seed of this run; `OPSCTL_TEST_SEED=N` repeats it. */
export const testSeed = Number(process.env['OPSCTL_TEST_SEED']);
if (!Number.isSafeInteger(testSeed)) throw new Error('OPSCTL_TEST_SEED is not a whole number');

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: testSeed });
