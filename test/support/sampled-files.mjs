// @ts-check
// The files of real parts that take turns: `npm test` runs some of them, which the seed of the run selects, and
// `npm run test:soak` runs all of them. A file that proves a mark, or that a document names, belongs to every run
// (`test/tooling/sampled-files.test.ts`).

/**
 * The groups: one of `of` files of a group belongs to a run. Files of similar CPU time are neighbors, so all seeds need about
 * the same time. `why` names the tests of every run that cover the same rules.
 * @type {typeof import('./sampled-files.mjs').groups}
 */
export const groups = [
  {
    why: 'the engine tests and the simulator cover the rules; these files check them on real servers',
    of: 2,
    files: [
      'test/cluster/faults.real.test.ts',
      'test/cluster/tls.real.test.ts',
      'test/cluster/disk-full.real.test.ts',
      'test/cluster/ssh.real.test.ts',
      'test/cluster/offline.real.test.ts',
      'test/cluster/one-way.real.test.ts',
      'test/cluster/linked-data.real.test.ts',
      'test/cluster/diverged.real.test.ts',
      'test/cluster/access-settings.real.test.ts',
      'test/cluster/access.real.test.ts',
      'test/cluster/configured.real.test.ts',
      'test/cluster/same-process.real.test.ts',
      'test/cluster/reported-facts.real.test.ts',
      'test/cluster/accidents.real.test.ts',
      'test/cluster/quota.real.test.ts',
      'test/cluster/client-interfaces.real.test.ts',
    ],
  },
  {
    why: 'simulated.real.test.ts and the engine tests cover the rules on simulated members',
    of: 2,
    files: [
      'test/cluster/simulated-hold.real.test.ts',
      'test/cluster/simulated-membership.real.test.ts',
      'test/cluster/fleet-resume.real.test.ts',
    ],
  },
  {
    why: 'the engine tests cover a cut; each file has the scenes of one way in which a network fails',
    of: 2,
    files: ['test/cluster/cut.real.test.ts', 'test/cluster/cut-silent.real.test.ts'],
  },
  {
    why: 'the contract tests cover the rules of each service; these files run the programs of other vendors',
    of: 2,
    files: [
      'test/peers/login-servers.real.test.ts',
      'test/peers/test-frameworks.real.test.ts',
      'test/peers/python-clients.real.test.ts',
      'test/peers/labels-client.real.test.ts',
      'test/peers/more-clients.real.test.ts',
      'test/peers/auth-clients.real.test.ts',
      'test/peers/tracker-client.real.test.ts',
      'test/peers/labels-python.real.test.ts',
      'test/peers/foreign-checks.real.test.ts',
      'test/peers/appauth-passport.real.test.ts',
    ],
  },
  {
    why: 'the tests of the tooling and packed.real.test.ts cover the steps; a release repeats all of them',
    of: 3,
    files: ['test/stories/release.real.test.ts'],
  },
];

/**
 * Returns the files that a run with this seed leaves out. Pure.
 * @type {typeof import('./sampled-files.mjs').filesLeftOut}
 */
export const filesLeftOut = (seed, from = groups) =>
  from.flatMap(({ of, files }) => files.filter((_, at) => at % of !== Number(seed) % of));
