import { expect, it } from 'vitest';
import { hostOf, refuseWrongBinary, wrongBinary } from '../../../../src/kv/upgrade/execute/member.ts';
import type { HostFacts } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { errorWith } from '../../../support/facts.ts';

const facts = (patch: Partial<HostFacts>): HostFacts => patch as HostFacts;

it('a host is inspected with retries, and its sizes only if needed', async () => {
  const wanted: unknown[] = [];
  const run = runOn(
    fakeHost(),
    {},
    {
      facts: async ({ name }, want) => {
        wanted.push([name, want]);
        return facts({ new_binary_version: '3.4.45' });
      },
    },
  );
  await refuseWrongBinary(run, 'n2');
  await hostOf(run, 'n3', true);
  expect(wanted).toEqual([
    ['n2', { sizes: false, isPatient: true }],
    ['n3', { sizes: true, isPatient: true }],
  ]);
});

it('an upgrade starts no program of another minor or of an unknown version', () => {
  const run = runOn(fakeHost());
  const refused = (patch: Partial<HostFacts>) => () => wrongBinary(run, 'n2', facts(patch));
  expect(refused({ new_binary_version: '3.4.1' })).not.toThrow();
  expect(refused({ new_binary_version: '3.5.1' })).toThrow(
    errorWith('WRONG_BINARY', 'n2', '3.5.1', '3.4', 'binary', 'target'),
  );
  expect(refused({})).toThrow(errorWith('WRONG_BINARY', 'n2', '3.4', 'report', 'target'));
  expect(refused({ new_binary_error: 'ENOENT' })).toThrow(
    errorWith('WRONG_BINARY', 'n2', 'ENOENT', '3.4', 'report', 'target'),
  );
});
