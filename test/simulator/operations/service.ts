/** The mock server on a separate machine that never fails, and the whole program as its client. */
import { runProgram } from '../../../src/cli/run.ts';
import { program } from '../../../src/commands/program.ts';
import { defaultOptions } from '../../../src/mock-server/service-set.ts';
import { makeLabels } from '../../../src/mock-server/labels/service.ts';
import { type RunningMock, startMock } from '../../../src/mock-server/server.ts';
import { Store } from '../../../src/mock-server/store.ts';
import { makeTracker } from '../../../src/mock-server/tracker/service.ts';
import type { ActOptions, History } from '../history.ts';
import type { Ended } from '../kernel/kernel.ts';
import { machineNamed } from '../kernel/machine.ts';

export type Service = { readonly store: Store; readonly env: Readonly<Record<string, string>> };
const services = [
  { name: 'tracker', claims: (path: string) => path.startsWith('/api/v3'), load: async () => makeTracker },
  {
    name: 'labels',
    claims: (path: string) => /^\/(v2beta|batch)(\/|$)/.test(path),
    load: async () => makeLabels,
  },
];

export const startService = async ({ kernel, act }: History): Promise<Service> => {
  const store = new Store();
  const started = new Promise<RunningMock>((resolve, reject) => {
    const serving = act(
      'service',
      async (host) => {
        resolve(
          await startMock({
            ...{ host, services, store, documents: {}, seed: 'empty', port: 0, isPrivate: true },
            options: { ...defaultOptions, ratePerMinute: undefined },
            onFailure: (error) => reject(error),
          }),
        );
        await new Promise(() => undefined);
      },
      { isSafe: true, machine: machineNamed('cloud') },
    );
    serving.then((ended) => reject(new Error(`the service ended: ${JSON.stringify(ended)}`)));
  });
  const { origin } = await kernel.until(started);
  return {
    store,
    env: {
      ...{ OPSCTL_TRACKER_URL: origin, OPSCTL_TRACKER_TOKEN: defaultOptions.trackerToken },
      ...{ OPSCTL_LABELS_URL: origin, OPSCTL_LABELS_TOKEN: 'any-token' },
    },
  };
};

export type Ran = { readonly code: number; readonly out: string; readonly err: string };
/** Runs one command of the whole program as a process. */
export const command = (
  { act }: History,
  name: string,
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
  options: ActOptions = {},
): Promise<Ended<Ran>> =>
  act(
    name,
    async (host) => {
      const code = await runProgram(host, argv, program);
      return { code, out: host.out(), err: host.err() };
    },
    { env, mostEffects: 60, ...options },
  );

/** Writes complete files before the history starts. */
export const putFiles = async (
  { kernel, act, desk }: History,
  files: Readonly<Record<string, string>>,
): Promise<void> => {
  await kernel.until(
    act(
      'writer',
      async (host) => {
        for (const [path, text] of Object.entries(files)) {
          await host.files.makeDirectory(path.slice(0, path.lastIndexOf('/')));
          await host.files.replace(path, text);
        }
      },
      { isSafe: true },
    ),
  );
  desk.disk.settle();
};
