import { setMaxListeners } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Host, Keychain, Network } from '../host.ts';
import { builtin, elapsedMs, isSingleExecutable, keepMemorySmall, randomBytes } from './builtin.ts';
import { nodeFiles } from './files.ts';
import { nodeProcesses } from './processes.ts';
import { nodeTerminal } from './terminal.ts';

type Env = Readonly<Record<string, string | undefined>>;
const LIMIT_MS = 3000;
const within = async <T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
  const stop = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`no answer within ${LIMIT_MS / 1000} s`));
      stop.abort();
    }, LIMIT_MS);
  });
  try {
    return await Promise.race([work(stop.signal), limit]);
  } finally {
    clearTimeout(timer);
  }
};
/**
 * Returns false on Linux without a session bus, because a keychain query would start a bus with every
 * command. Pure.
 */
export const hasKeychain = (env: Env, platform: string): boolean =>
  platform === 'darwin' || platform === 'win32' || !!env['DBUS_SESSION_BUS_ADDRESS'];
/**
 * The package is optional: a platform without its native part has no keychain here. Left to itself it falls back to the
 * kernel's keyring, which forgets everything at a restart; a keychain that is away must be an error instead.
 */
const entry = async (service: string, account: string) => {
  const { AsyncEntry } = await import('@napi-rs/keyring');
  return new AsyncEntry(service, account, { linux: { store: 'secret-service' } });
};
export const nodeKeychain = (env: Env, platform: string): Keychain | undefined =>
  hasKeychain(env, platform)
    ? {
        get: async (service, account) =>
          (await within(async (signal) => (await entry(service, account)).getPassword(signal))) ?? undefined,
        set: (service, account, secret) =>
          within(async (signal) => (await entry(service, account)).setPassword(secret, signal)),
        remove: async (service, account) => {
          await within(async (signal) => (await entry(service, account)).deletePassword(signal));
        },
      }
    : undefined;

export type NodeHostOptions = { readonly env?: Env; readonly cwd?: string };
/** The network's parts are loaded by the first request or server, not at start. */
const lazyNetwork = (env: Env): Network => {
  type Outgoing = Pick<Network, 'request' | 'close'>;
  let outgoing: Promise<Outgoing> | undefined;
  let loaded: Outgoing | undefined;
  const load = (): Promise<Outgoing> => {
    outgoing ??= import('./network.ts').then((module) => {
      loaded = module.outgoing(env);
      return loaded;
    });
    return outgoing;
  };
  return {
    request: async (request) => (loaded ?? (await load())).request(request),
    listen: async (handler, at) => (await import('./listen.ts')).listen(handler, at),
    canConnect: async (host, port, timeoutMs) =>
      (await import('./network.ts')).canConnect(host, port, timeoutMs),
    probe: async (...asked) => (await import('./ports.ts')).probe(...asked),
    freePorts: async (count) => (await import('./ports.ts')).freePorts(count),
    close: async () => (await outgoing)?.close(),
  };
};
/** The built program, for a module in `src` as well as for a chunk of the bundle. */
const program = (): string => {
  for (let directory = dirname(fileURLToPath(import.meta.url)); ; directory = dirname(directory)) {
    const found = join(directory, 'bin', 'opsctl.js');
    if (existsSync(found)) return found;
    if (directory === dirname(directory)) return process.argv[1] ?? '';
  }
};
/** A timer with more milliseconds than this fires immediately. */
const longestTimerMs = 2 ** 31 - 1;
const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', stop);
        resolve();
      },
      Math.min(ms, longestTimerMs),
    );
    if (signal === undefined) return;
    // Many waits may listen to one signal (webhook deliveries). This is not a leak, so no warning is needed.
    setMaxListeners(0, signal);
    signal.addEventListener('abort', stop, { once: true });
  });
const onSignal: Host['onSignal'] = (listener) => {
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const handlers = names.map((name) => [name, () => listener(name)] as const);
  for (const [name, handler] of handlers) process.on(name, handler);
  return () => {
    for (const [name, handler] of handlers) process.off(name, handler);
  };
};
const isSystemError = (error: unknown): boolean => error instanceof Error && 'code' in error;
/** Uses only documented options of conf (docs/decisions/0034). */
export const loadConf: Host['loadConf'] = async () => {
  const { default: Conf } = await import('conf');
  return (cwd, schema, content) => {
    let text: string | undefined;
    const file = new Conf<Record<string, unknown>>({
      cwd,
      configName: 'config',
      projectSuffix: '',
      configFileMode: 0o600,
      accessPropertiesByDotNotation: false,
      clearInvalidConfig: false,
      schema,
      serialize: (value) => {
        text = `${JSON.stringify(value, undefined, '\t')}\n`;
        return text;
      },
    });
    try {
      file.store = { ...content };
    } catch (error) {
      // The disk has room for the directory. If it is too full for this copy, it may still have room for the file, and
      // `Files.replace` reports an error if not.
      if (text === undefined || !isSystemError(error)) throw error;
    }
    if (text === undefined) throw new Error('conf did not serialize the configuration');
    return text;
  };
};
/** This machine. Cheap to make: packages and sockets are loaded by the method that needs them. */
export const nodeHost = (options: NodeHostOptions = {}): Host => {
  const env = options.env ?? process.env;
  return {
    env,
    platform: process.platform,
    runtime: `Node ${process.version}`,
    pid: process.pid,
    uid: process.getuid?.() ?? 0,
    get hostname() {
      return builtin.os.hostname();
    },
    cwd: options.cwd ?? process.cwd(),
    get self(): [string, ...string[]] {
      return isSingleExecutable ? [process.execPath] : [process.execPath, program()];
    },
    buildText: async (name) => (await import('./builtin.ts')).buildText(name),
    now: () => Date.now(),
    elapsed: elapsedMs,
    sleep,
    turn: () => new Promise((resolve) => setImmediate(resolve)),
    random: randomBytes,
    memoryBytes: () => process.memoryUsage.rss(),
    keepMemorySmall,
    network: lazyNetwork(env),
    processes: nodeProcesses(env),
    files: nodeFiles,
    terminal: nodeTerminal(env),
    keychain: nodeKeychain(env, process.platform),
    redis: async (url, timeoutMs) => (await import('./remote-stores.ts')).connectRedis(url, timeoutMs),
    jq: async (program, args) => (await import('./jq-run.ts')).startJq(program, args),
    loadConf,
    bucket: async (place) => (await import('./remote-stores.ts')).openBucket(place, env),
    openBrowser: async (url) => (await import('./programs.ts')).openBrowser(url, env, process.platform),
    onSignal,
    exit: (code) => process.exit(code),
  };
};
