import { childPath, pathPart } from '../core/file-name.ts';
import { storedList } from '../core/text.ts';
import type { Host } from '../platform/host.ts';
import { minorOf } from './forms.ts';

/** What can go wrong on demand, and the time of those that have one. A fault may be bound to one version, so that only the new (or the old) binary has it. */
export const faultKinds = {
  'crash-at-start': { says: 'the process ends with an error as soon as it starts' },
  'slow-start': { says: 'the process runs so many milliseconds before it listens', ms: 4_000 },
  'exit-after': { says: 'the process ends with an error so many milliseconds after its start', ms: 1_000 },
  'never-healthy': { says: 'the process runs but never takes part in the cluster' },
  'ignore-sigterm': { says: 'the process does not end on SIGTERM' },
  'disk-full': { says: 'the next write to its log fails, and the process ends with an error' },
  'clock-skew': { says: 'the clock of the member is so many milliseconds ahead', ms: 60_000 },
  slow: { says: 'every answer to a client waits so many milliseconds', ms: 100 },
  cut: { says: 'nothing reaches the other members and nothing comes from them' },
  'cut-in': { says: 'nothing comes from the other members; what it sends reaches them' },
  'cut-out': { says: 'nothing reaches the other members; what they send reaches it' },
  'links-out': {
    says: 'its own connections to the other members fail (their certificates); it takes part over the connections of the others',
  },
  'links-in': {
    says: 'the connections of the other members to it fail (its certificate); it takes part over its own connections',
  },
} as const satisfies Readonly<Record<string, { readonly says: string; readonly ms?: number }>>;
export type FaultKind = keyof typeof faultKinds;
export type Fault = { readonly kind: FaultKind; readonly ms?: number; readonly version?: string };
/** The time that a fault has when none is given. */
export const defaultMs = (kind: FaultKind): number | undefined => {
  const row = faultKinds[kind];
  return 'ms' in row ? row.ms : undefined;
};

export const faultFile = (directory: string, member: string): string =>
  childPath(directory, pathPart(`${member}.json`));

const fault = { kind: 'text', ms: 'number?', version: 'text?' } as const;
export const readFaults = async (host: Host, path: string): Promise<Fault[]> => {
  const text = await host.files.read(path);
  return text === undefined
    ? []
    : storedList<Fault>(path, text, fault, [`remove ${path}: it has no fault then`]);
};

/** The faults of this member that are on now; read again when told to. */
export class Faults {
  #all: readonly Fault[];
  readonly #minor: string;
  constructor(all: readonly Fault[], version: string) {
    this.#all = all;
    this.#minor = minorOf(version);
  }
  replace(all: readonly Fault[]): void {
    this.#all = all;
  }
  find(kind: FaultKind): Fault | undefined {
    return this.#all.find(
      (fault) =>
        fault.kind === kind && (fault.version === undefined || minorOf(fault.version) === this.#minor),
    );
  }
  #has(...kinds: readonly FaultKind[]): boolean {
    return kinds.some((kind) => this.find(kind) !== undefined);
  }
  get sendsNothing(): boolean {
    return this.#has('cut', 'never-healthy', 'cut-out');
  }
  get hearsNothing(): boolean {
    return this.#has('cut', 'never-healthy', 'cut-in');
  }
  get failsOwnLinks(): boolean {
    return this.#has('links-out');
  }
  get refusesLinks(): boolean {
    return this.#has('links-in');
  }
  get delayMs(): number {
    return this.find('slow')?.ms ?? 0;
  }
  get skewMs(): number {
    return this.find('clock-skew')?.ms ?? 0;
  }
}
