import type { Host } from '../platform/host.ts';
import { minorOf } from './forms.ts';

/** What can go wrong on demand. A fault may be bound to one version, so that only the new (or the old) binary has it. */
export const faultKinds = {
  'crash-at-start': 'the process ends with an error as soon as it starts',
  'exit-after': 'the process ends with an error so many milliseconds after its start',
  'never-healthy': 'the process runs but never takes part in the cluster',
  'ignore-sigterm': 'the process does not end on SIGTERM',
  slow: 'every answer to a client waits so many milliseconds',
  cut: 'nothing reaches the other members and nothing comes from them',
} as const;
export type FaultKind = keyof typeof faultKinds;
export type Fault = { readonly kind: FaultKind; readonly ms?: number; readonly version?: string };

export const faultFile = (directory: string, member: string): string => `${directory}/${member}.json`;

export const readFaults = async (host: Host, path: string): Promise<Fault[]> => {
  const text = await host.files.read(path);
  return text === undefined ? [] : (JSON.parse(text) as Fault[]);
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
  get isCut(): boolean {
    return this.find('cut') !== undefined || this.find('never-healthy') !== undefined;
  }
  get delayMs(): number {
    return this.find('slow')?.ms ?? 0;
  }
}
