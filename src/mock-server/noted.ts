/**
 * What the server notes while it works; shown (and masked) only when somebody asks, so that noting is cheap. The last ten
 * thousand of these outlive the young generation, so each is one object with numbers in place: a member that is added later,
 * a text or a fraction would be a further object to move and to mark.
 */
export type Noted = {
  /** Of its request, from 1. */
  readonly number: number;
  readonly atMs: number;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The block that has the body, from `bodyAt` on; undefined for a body that is not kept. */
  bodyIn: Uint8Array | undefined;
  bodyAt: number;
  bodyBytes: number | undefined;
  service: string | undefined;
  fault: number | undefined;
  status: number | undefined;
  /** Microseconds, whole. */
  tookUs: number | undefined;
};
