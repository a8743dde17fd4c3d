import type { AuthContext } from '../../../src/auth/auth-context.ts';
import { type Account, withAccount } from '../../../src/auth/credential-store/account.ts';
import { openCredentialStore } from '../../../src/auth/credential-store/store.ts';
import type { SecurityEvent } from '../../../src/auth/events/receiver.ts';
import type { LoginServer } from '../../../src/auth/settings.ts';
import type { Host } from '../../../src/platform/host.ts';
import { type FakeHost, fakeHost } from '../../support/fake-host.ts';
import { type Outcome, type OperationName, operations } from './operations.ts';
import { type RotatingServer, rotatingServer } from './rotating-server.ts';
import { type Schedule, schedule } from './scheduler.ts';

export const origin = 'http://127.0.0.1:9';
/** One home directory and one token server, for operations that represent processes. */
export type Environment = {
  readonly rotating: RotatingServer;
  readonly server: LoginServer;
  readonly event: Omit<SecurityEvent, 'events'>;
  noteEvent(): void;
};

export const contextOn = (host: Host): AuthContext => ({
  host,
  settings: {
    profile: { name: 'work', origin: 'flag --profile' },
    directories: { config: '/state', state: '/state', cache: '/state' },
    get: () => undefined,
  },
  log: { info() {}, warn() {}, warnOnce() {}, debug() {}, hide() {} },
  signal: new AbortController().signal,
  target: () => Promise.reject(new Error('no embedded server')),
});

const endpoints = { authorize: `${origin}/auth`, token: `${origin}/token`, revoke: `${origin}/revoke` };
const server: LoginServer = { endpoints, key: origin, isMock: false, clientId: 'client-1' };

const fakeMachine = (rotating: RotatingServer, files: Record<string, string>): FakeHost =>
  fakeHost({ env: { OPSCTL_KEYCHAIN: 'never' }, files, reply: (request) => rotating.reply(request) });

let prepared: Promise<Record<string, string>> | undefined;
/** Ada is signed in to `work` with the scope `a`; the file is created once, because encryption and keys cost more than a schedule. */
const startFiles = async (): Promise<Record<string, string>> => {
  const rotating = rotatingServer(true);
  const host = fakeMachine(rotating, {});
  const { refresh, access } = rotating.begin('ada', 'a');
  const account: Account = {
    name: 'work',
    generation: 0,
    signIn: 'first',
    server: origin,
    endpoints,
    clientId: 'client-1',
    subject: 'ada',
    requested: ['a'],
    granted: ['a'],
    obtainedMs: host.now(),
    accessToken: access,
    accessExpiresMs: host.now() + 3_600_000,
    refreshToken: refresh,
  };
  await openCredentialStore(contextOn(host)).swap((data) => ({ data: withAccount(data, account) }));
  return host.files.all();
};

export type Ended = {
  readonly outcomes: Readonly<Record<string, Outcome>>;
  readonly account: Account | undefined;
  readonly rotating: RotatingServer;
  /** The number of tokens that the server had issued when the event was applied. */
  readonly eventAt: number;
  /** Generations of the account, in write order. */
  readonly generations: readonly number[];
  readonly trace: string;
};

/** Runs the operations once, in the order that `choose` selects. */
export const runSchedule = async (
  names: readonly OperationName[],
  rotates: boolean,
  choose: (enabled: number) => number,
  /** The machine or container of each operation (default: all on one). */
  placed: (host: Host, index: number) => Host = (host) => host,
): Promise<Ended> => {
  prepared ??= startFiles();
  const rotating = rotatingServer(rotates);
  rotating.begin('ada', 'a');
  const machine = fakeMachine(rotating, await prepared);
  for (const path of Object.keys(await prepared)) await machine.files.setMode(path, 0o600);
  const plan: Schedule = schedule(choose);
  const generations: number[] = [];
  let eventAt = 0;
  const environment: Environment = {
    rotating,
    server,
    event: { id: 'e', issuer: origin, audience: 'client-1', issuedMs: machine.now() },
    noteEvent: () => {
      eventAt = rotating.count();
    },
  };
  const stored = async (host: Host): Promise<Account | undefined> =>
    (await openCredentialStore(contextOn(host)).read()).accounts.find(({ name }) => name === 'work');
  const watched: Host = {
    ...machine,
    files: {
      ...machine.files,
      replace: async (path, data, mode) => {
        await machine.files.replace(path, data, mode);
        const account = path.endsWith('credentials.json') ? await stored(machine) : undefined;
        if (account !== undefined) generations.push(account.generation);
      },
    },
  };
  const outcomes: Record<string, Outcome> = {};
  await plan.run(
    names.map((operation, i) => {
      const name = `${operation}${i}`;
      const host = plan.hostFor(name, placed(watched, i));
      return {
        name,
        run: async () => {
          outcomes[name] = await operations[operation](contextOn(host), environment);
        },
      };
    }),
  );
  return { outcomes, account: await stored(machine), rotating, eventAt, generations, trace: plan.trace() };
};
