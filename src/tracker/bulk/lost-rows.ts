import type { AppError } from '../../core/problem.ts';

/** Tries of one row whose connection is lost each time, before the run ends. */
const MOST_TRIES = 4;

/**
 * Requests of a run whose response was lost. A lookup runs alone: while it does, no row is sent and no response is
 * awaited, so that a record that is found belongs to no other row of the same content.
 */
export class Lost {
  /** Connections that were lost so far. */
  count = 0;
  readonly #calls = new Set<Promise<unknown>>();
  #lookup: Promise<unknown> | undefined;

  /** True for an error after which the row may or may not be applied, while there are tries left. */
  mayRecover(error: AppError, tries: number, signal: AbortSignal): boolean {
    if (error.detail.outcome !== 'unknown') return false;
    this.count += 1;
    return tries < MOST_TRIES && !signal.aborted;
  }
  async call<T>(send: () => Promise<T>): Promise<T> {
    await this.#pass();
    const sent = send();
    this.#calls.add(sent);
    try {
      return await sent;
    } finally {
      this.#calls.delete(sent);
    }
  }
  async alone<T>(look: () => Promise<T>): Promise<T> {
    await this.#pass();
    const lookup = Promise.allSettled(this.#calls).then(look);
    this.#lookup = lookup.catch(() => undefined);
    try {
      return await lookup;
    } finally {
      this.#lookup = undefined;
    }
  }
  async #pass(): Promise<void> {
    while (this.#lookup !== undefined) await this.#lookup;
  }
}
