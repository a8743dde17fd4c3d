import { nothing } from '../../core/result.ts';
import { defineCommand, type Context } from '../../cli/command.ts';
import { liveServer } from '../../mock-server/instance-lock.ts';
import { mockDirectory } from './embedded.ts';

/** A large state takes its time to be written. */
const STOP_MS = 60_000;
const POLL_MS = 20;

/** Waits until the server of the state directory has let go of it: the next command may start one there. */
const hasEnded = async ({ host, signal }: Context, directory: string, pid: number): Promise<boolean> => {
  const until = host.elapsed() + STOP_MS;
  while (liveServer(host, directory)?.pid === pid) {
    if (host.elapsed() > until) return false;
    await host.sleep(POLL_MS, signal);
  }
  return true;
};

export const stopCommand = defineCommand({
  path: ['mock', 'stop'],
  noDryRun: 'opsctl mock status shows whether a server runs',
  summary: 'End the running mock server',
  run: async (context) => {
    const { isServed, steer } = await import('./remote.ts');
    if (!isServed(context)) return nothing('no mock server is running');
    const directory = mockDirectory(context.settings);
    const own = liveServer(context.host, directory);
    return nothing(
      await steer(context, async (ask, url) => {
        await ask('POST', 'shutdown');
        const isEnded = own?.url === url && (await hasEnded(context, directory, own.pid));
        return `the mock server at ${url} ${isEnded ? 'has ended' : 'ends'}`;
      }),
    );
  },
});
