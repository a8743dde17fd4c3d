/** A process that performs operations on the account `work`, one JSON line per operation. */
import { createInterface } from 'node:readline';
import { openCredentialStore } from '../../../src/auth/credential-store/store.ts';
import type { Host } from '../../../src/platform/host.ts';
import { nodeHost } from '../../../src/platform/node/host.ts';
import { contextOn, type Environment } from '../../auth/schedules/environment.ts';
import { type OperationName, operations } from '../../auth/schedules/operations.ts';

export type Order = {
  readonly operation: OperationName;
  readonly directory: string;
  readonly origin: string;
  readonly delayMs: number;
};

const real = nodeHost({ env: { ...process.env, OPSCTL_KEYCHAIN: 'never' }, cwd: process.cwd() });

const work = async ({ operation, directory, origin, delayMs }: Order) => {
  const generations: number[] = [];
  const contextFor = (host: Host) => {
    const context = contextOn(host);
    return {
      ...context,
      settings: {
        ...context.settings,
        directories: { config: directory, state: directory, cache: directory },
      },
    };
  };
  const host: Host = {
    ...real,
    files: {
      ...real.files,
      replace: async (path, data, mode) => {
        await real.files.replace(path, data, mode);
        // The lock is still held, so no other process has written since.
        if (!path.endsWith('credentials.json')) return;
        const { accounts } = await openCredentialStore(contextFor(real)).read();
        const account = accounts.find(({ name }) => name === 'work');
        if (account !== undefined) generations.push(account.generation);
      },
    },
  };
  const endpoints = { authorize: `${origin}/auth`, token: `${origin}/token`, revoke: `${origin}/revoke` };
  const environment = {
    server: { endpoints, key: origin, isMock: false, clientId: 'client-1' },
    event: { id: 'e', issuer: origin, audience: 'client-1', issuedMs: real.now() },
    noteEvent: () => undefined,
  } as unknown as Environment;
  await real.sleep(delayMs);
  return { outcome: await operations[operation](contextFor(host), environment), generations };
};

for await (const line of createInterface({ input: process.stdin })) {
  const answer = await work(JSON.parse(line) as Order);
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
