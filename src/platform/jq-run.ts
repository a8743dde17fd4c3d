/** A jq that was started with a program and flags: JSON goes in and results come out as they flow, without a copy of the whole. */
export type JqRun = {
  /** `no`: jq ended before it asked for input. */
  readonly compiled: Promise<'yes' | 'no'>;
  /** Resolves when there is room for more; false when jq has ended and wants none. */
  write(data: string | Uint8Array): Promise<boolean>;
  end(): void;
  output(): AsyncIterable<Uint8Array>;
  /** As the command line's: 0 is success, 5 an error in the program, 3 a program that does not compile; null when it was killed. */
  readonly finished: Promise<{ readonly code: number | null; readonly stderr: string }>;
  kill(): Promise<void>;
};
