/**
 * All effects of an engine in one list: journal lines, files, requests, driver calls, and entries that a test adds (events,
 * rows). Each effect has an entry for the call and an entry for its completion (`… done`, `… failed`), so a missing `await`
 * shows as an entry in the wrong position. One effect of a run can fail: it rejects, hangs until the run is aborted, or is
 * the last effect of its process.
 */
import { basename } from 'node:path';
import { expect } from 'vitest';
import type { Driver } from '../../src/kv/upgrade/supervisors/driver.ts';
import { type Host, type HttpRequest, NetworkError } from '../../src/platform/host.ts';

export const failures = ['reject', 'hang', 'exit'] as const;
export type Failure = (typeof failures)[number];
/** `effect` is the number of an effect, starting at 1. */
export type Fault = { readonly effect: number; readonly failure: Failure };
export type Traced<H extends Host = Host> = {
  readonly host: H;
  readonly entries: readonly string[];
  /** Only the calls. Effect n is `effects[n - 1]`. */
  readonly effects: readonly string[];
  driver(driver: Driver): Driver;
  /** Adds an entry of the test: an event, a row, the end of the run. */
  note(entry: string): void;
  /** Resolves when the fault has ended the process. */
  readonly died: Promise<'died'>;
  /** Resolves when the effect of the fault hangs. */
  readonly hung: Promise<Host>;
};
type TraceOptions = {
  readonly fault?: Fault | undefined;
  /** Returns the name of a request. If it returns undefined, the trace omits the request. */
  readonly nameRequest?: (request: HttpRequest) => string | undefined;
  /** An effect takes longer than the tasks that follow a missing `await`, so the entry of its completion comes late. */
  readonly isSlow?: boolean;
};
type Kind = { readonly error: () => Error; readonly request?: HttpRequest };

const text = (data: string | Uint8Array): string =>
  typeof data === 'string' ? data : new TextDecoder().decode(data);
/** Formats a journal line in short form: `begin n2.stop`, `reverting n2`. */
const lineInShort = (line: string): string => {
  try {
    const entry = JSON.parse(line) as Record<string, unknown>;
    const { kind, status } = entry;
    const nested = ['placement', 'snapshot'].map((key) => (entry[key] as { member?: string })?.member);
    const what = [entry['step'], entry['member'], ...nested, entry['outcome'], entry['line']];
    return [kind ?? status ?? 'line', what.find((one) => one !== undefined)]
      .filter((one) => one !== undefined)
      .join(' ');
  } catch {
    // Lines of the bulk journal and of the rate consist of a letter and a number.
    const [kind = '', number = ''] = line.split(' ');
    return /^\d{1,6}$/.test(number) ? `${kind} ${number}` : kind.slice(0, 20);
  }
};
const linesOf = (data: string | Uint8Array): string =>
  text(data)
    .split('\n')
    .filter((line) => line !== '')
    .map(lineInShort)
    .join(', ');
const noSpace = (): Error =>
  Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC', syscall: 'write' });
const reset = (): Error => new NetworkError('RESET', 'the connection was closed', true);
const lost = (): Error => new Error('the host does not respond');
const forever = new Promise<never>(() => {});
class ProcessEnded extends Error {}

/** Methods of `Files` that change data, except `append`. */
const CHANGES = [
  ...(['replace', 'replaceStream', 'create', 'truncate', 'makeDirectory'] as const),
  ...(['setMode', 'rename', 'copy', 'remove'] as const),
] as const;
const DRIVER_CALLS = [
  ...(['stop', 'kill', 'stage', 'activate', 'discard', 'start', 'copyData'] as const),
  ...(['readFile', 'writeFile', 'process', 'facts', 'logTail'] as const),
] as const;
/** These calls never throw, by their contract. */
const NEVER_THROWS = new Set<string>(['process', 'facts', 'logTail']);

export const traceHost = <H extends Host>(
  host: H,
  { fault, nameRequest, isSlow = false }: TraceOptions = {},
): Traced<H> => {
  const entries: string[] = [];
  const effects: string[] = [];
  let isDead = false;
  let tellDeath = (): void => {};
  const died = new Promise<'died'>((resolve) => {
    tellDeath = () => resolve('died');
  });
  let tellHang = (): void => {};
  const hung = new Promise<Host>((resolve) => {
    tellHang = () => resolve(host);
  });
  const end = (): void => {
    isDead = true;
    entries.push('the process ends');
    tellDeath();
  };
  /** Returns the fault if it applies to this effect. */
  const begin = (label: string): Failure | undefined => {
    if (isDead) return undefined;
    entries.push(label);
    effects.push(label);
    return fault?.effect === effects.length ? fault.failure : undefined;
  };
  /** Waits as long as a real request: until its signal aborts or its timeout expires. */
  const hang = ({ request, error }: Kind): Promise<never> => {
    const waiting = host.sleep(request?.timeoutMs ?? 20_000, request?.signal);
    tellHang();
    return waiting.then(() => {
      throw request === undefined ? error() : new NetworkError('TIMEOUT', 'no response', true);
    });
  };
  const call = async <T>(label: string, kind: Kind, act: () => Promise<T>): Promise<T> => {
    if (isDead) return forever;
    const failure = begin(label);
    try {
      if (failure === 'reject') throw kind.error();
      if (failure === 'hang') await hang(kind);
      const result = await act();
      for (let i = 0; isSlow && i < 5; i += 1) await new Promise((resolve) => setImmediate(resolve));
      if (isDead) return forever;
      if (failure === 'exit') {
        end();
        return forever;
      }
      entries.push(`${label} done`);
      return result;
    } catch (error) {
      if (isDead) return forever;
      entries.push(`${label} failed`);
      throw error;
    }
  };
  /** A synchronous effect cannot hang. In a process that has ended, it throws, and no other effect follows. */
  const callNow = <T>(label: string, error: () => Error, act: () => T): T => {
    if (isDead) throw new ProcessEnded();
    const failure = begin(label);
    if (failure === 'reject') {
      entries.push(`${label} failed`);
      throw error();
    }
    const result = act();
    if (failure === 'exit') {
      end();
      throw new ProcessEnded();
    }
    return result;
  };

  const files = { ...host.files };
  const fileCalls = files as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
  for (const name of CHANGES) {
    const original = fileCalls[name] as (...args: unknown[]) => Promise<unknown>;
    fileCalls[name] = (path, ...rest) =>
      call(`${name} ${basename(String(path))}`, { error: noSpace }, () => original(path, ...rest));
  }
  files.append = (path, mode) => {
    const file = host.files.append(path, mode);
    const name = basename(path);
    return {
      ...file,
      write: (data) => callNow(`write ${name}: ${linesOf(data)}`, noSpace, () => file.write(data)),
      sync: () => callNow(`sync ${name}`, noSpace, () => file.sync()),
      sizeBytes: () => file.sizeBytes(),
      close: () => (isDead ? undefined : file.close()),
    };
  };
  const usualName = ({ method, url }: HttpRequest): string => `${method} ${new URL(url).pathname}`;
  const request: Host['network']['request'] = (one) => {
    const name = (nameRequest ?? usualName)(one);
    if (name === undefined && !isDead) return host.network.request(one);
    return call(`${name}`, { error: reset, request: one }, () => host.network.request(one));
  };
  const run: Host['processes']['run'] = (command, args, options) =>
    call(`run ${basename(command)}`, { error: lost }, () => host.processes.run(command, args, options));
  const { stdout } = host.terminal;
  /** Output for a person or the next program. Another test covers a closed pipe. */
  const write: typeof stdout.write = async (data) => {
    if (isDead) return forever;
    entries.push(`print ${text(data).startsWith('{"') ? linesOf(data) : 'text'}`);
    await stdout.write(data);
  };
  return {
    host: {
      ...host,
      terminal: { ...host.terminal, stdout: { ...stdout, write } },
      files,
      network: { ...host.network, request },
      processes: { ...host.processes, run },
      sleep: (ms, signal) => (isDead ? forever : host.sleep(ms, signal)),
    },
    ...{ entries, effects, died, hung },
    driver: (driver) => {
      const traced = { ...driver } as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
      for (const name of DRIVER_CALLS) {
        const original = traced[name] as (...args: unknown[]) => Promise<unknown>;
        traced[name] = (member, ...rest) => {
          const act = (): Promise<unknown> => original(member, ...rest);
          // A read that never throws is not an effect, and a dead process does not read.
          if (NEVER_THROWS.has(name)) return isDead ? forever : act();
          const { name: member_name } = member as { name: string };
          return call(`driver ${name} ${member_name}`, { error: lost }, act);
        };
      }
      return traced as unknown as Driver;
    },
    note: (entry) => void (isDead || entries.push(entry)),
  };
};

/** Checks that the entries occur in this order. Other entries may occur between them. */
export const expectInOrder = (entries: readonly string[], ...wanted: readonly string[]): void => {
  let from = 0;
  for (const [i, entry] of wanted.entries()) {
    const at = entries.indexOf(entry, from);
    if (at < 0) {
      const previous = i === 0 ? 'the beginning' : `"${wanted[i - 1]}"`;
      expect.fail(`"${entry}" does not follow ${previous}; the trace is:\n${entries.join('\n')}`);
    }
    from = at + 1;
  }
};
/** Checks that an entry does not occur between two entries. */
export const expectNoneBetween = (
  entries: readonly string[],
  first: string,
  last: string,
  none: string | RegExp,
): void => {
  const from = entries.indexOf(first);
  const to = entries.indexOf(last, from);
  expect(from, `"${first}" is in the trace`).toBeGreaterThanOrEqual(0);
  expect(to, `"${last}" follows "${first}"`).toBeGreaterThan(from);
  const matches = (entry: string): boolean => (typeof none === 'string' ? entry === none : none.test(entry));
  expect(entries.slice(from + 1, to).filter(matches)).toEqual([]);
};
