import { expect, it } from 'vitest';
import { withDelayedElection } from '../../../../src/kv/upgrade/supervisors/open.ts';
import type { Driver } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import type { MemberSpec } from '../../../../src/kv/engine/model.ts';
import { partlyMade } from '../../../support/context.ts';
import { covers } from '../../../support/covers.ts';

const member: MemberSpec = {
  name: 'n1',
  client_url: 'http://127.0.0.1:1',
  new_command: ['/new', '--name', 'n1'],
  old_command: ['/old'],
};
const variable = 'ETCD_INITIAL_ELECTION_TICK_ADVANCE';

const started = async (of: MemberSpec, size = 3): Promise<MemberSpec['env']> => {
  let env: MemberSpec['env'];
  const driver = partlyMade<Driver>({
    start: async (given: MemberSpec) => {
      env = given.env;
      return {};
    },
  });
  await withDelayedElection(driver, size).start(of, 'new');
  return env;
};

it(
  'a member that comes back waits for its leader instead of calling an election',
  covers('spec/store#choices-1'),
  async () => {
    expect(await started(member)).toEqual({ [variable]: 'false' });
    expect(await started({ ...member, env: { A: 'b' } })).toEqual({ A: 'b', [variable]: 'false' });
  },
);
it('runs as and where its predecessor ran: what was recorded of it reaches the driver', async () => {
  const given: unknown[] = [];
  const driver = partlyMade<Driver>({
    start: async (...all: unknown[]) => void given.push(all[2]),
  });
  const placement = {
    member: 'n1',
    previous: { minor: '3.3' },
    next: { minor: '3.4' },
    runs_as: { uid: 7, cwd: '/srv/n1' },
  } as const;
  await withDelayedElection(driver, 3).start(member, 'new', placement);
  expect(given).toEqual([placement]);
});
it('a single member has no election to wait for', covers('spec/store#choices-1'), async () => {
  expect(await started(member, 1)).toBeUndefined();
});
it.each<[string, MemberSpec]>([
  ['the cluster file decides by its environment', { ...member, env: { [variable]: 'true' } }],
  ['or by a flag', { ...member, new_command: '/new --initial-election-tick-advance=true' }],
  [
    'a configuration file is read alone',
    { ...member, new_command: ['/new', '--config-file', '/etc/n1.yaml'] },
  ],
])('%s', async (_, given) => {
  expect(await started(given)).toEqual(given.env);
});
it('the plan shows the start as it will be', () => {
  const driver = partlyMade<Driver>({ describe: (kind: string) => [`${kind} it`] });
  expect(withDelayedElection(driver, 3).describe('start', member, 'new')).toEqual([
    `${variable}=false start it`,
  ]);
  expect(withDelayedElection(driver, 3).describe('stop', member, 'new')).toEqual(['stop it']);
});
