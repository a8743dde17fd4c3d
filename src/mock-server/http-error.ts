import type { Problem } from '../core/problem.ts';

/** A handler or rule refuses; the service gives it its wire shape. */
export class HttpError extends Error {
  readonly status: number;
  readonly problems: readonly Problem[];
  /** Fields of the error body that the service defines for this error. */
  readonly body: Readonly<Record<string, unknown>>;
  constructor(
    status: number,
    message: string,
    more: { problems?: readonly Problem[]; body?: Record<string, unknown> } = {},
  ) {
    super(message);
    this.name = 'HttpError';
    this.status = status;
    this.problems = more.problems ?? [];
    this.body = more.body ?? {};
  }
}
