import type { Configuration } from './message.ts';

/** Who votes now, as one member sees it. */
export class Voters {
  readonly #own: string;
  #configuration: Configuration;
  constructor(own: string, configuration: Configuration) {
    this.#own = own;
    this.#configuration = configuration;
  }
  get configuration(): Configuration {
    return this.#configuration;
  }
  change(configuration: Configuration): void {
    this.#configuration = configuration;
  }
  get majority(): number {
    return Math.floor(this.#configuration.voters.length / 2) + 1;
  }
  /** 1 where this member is one of those who vote. */
  get own(): number {
    return this.#configuration.voters.includes(this.#own) ? 1 : 0;
  }
  get others(): string[] {
    return this.#configuration.voters.filter((id) => id !== this.#own);
  }
}
