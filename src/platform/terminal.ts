/** Standard streams, questions and progress of a terminal: a part of the Host. */
export type Output = {
  readonly isTty: boolean;
  readonly columns: number;
  /** Lines of a terminal. */
  readonly rows?: number | undefined;
  /** Resolves when the reader took it; rejects with code EPIPE when there is no reader any more. */
  write(text: string | Uint8Array): Promise<void>;
};
export type Choice = { readonly value: string; readonly label: string };
/** Prompts are written to stderr. They reject with AppError('interrupted') on Ctrl-C or end of input. */
export type Prompts = {
  confirm(question: string, fallback: boolean): Promise<boolean>;
  text(
    question: string,
    /** `signal`: takes the question back; then it rejects like a Ctrl-C. */
    options?: { readonly secret?: boolean; readonly fallback?: string; readonly signal?: AbortSignal },
  ): Promise<string>;
  select(question: string, choices: readonly Choice[]): Promise<string>;
};
export type Terminal = {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly stdin: {
    readonly isTty: boolean;
    bytes(): AsyncIterable<Uint8Array>;
    lines(signal?: AbortSignal): AsyncIterable<string>;
    /** Keys as they are pressed, until the signal; only for terminals. */
    keys?(signal: AbortSignal): AsyncIterable<string>;
  };
  readonly prompts: Prompts;
  /** Shows text with a pager that has the terminal until its reader leaves it; false when it cannot be started. */
  page?(command: string, text: string): Promise<boolean>;
  /** A line that turns on stderr; only for terminals. */
  spinner(text: string): Promise<{ update(text: string): void; stop(): void }>;
};
