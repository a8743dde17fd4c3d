/** What the server notes while it works; shown (and masked) only when somebody asks, so that noting is cheap. */
export type Noted = {
  readonly id: string;
  readonly atMs: number;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Bytes as text of one character each: a thousand small strings cost the collector less than a thousand buffers. */
  body?: string;
  bodyBytes?: number;
  service?: string;
  fault?: number;
  status?: number;
  ms?: number;
};
