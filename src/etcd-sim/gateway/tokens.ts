import { scryptSync } from 'node:crypto';
import type { Host } from '../../platform/host.ts';

const LIFE_MS = 300_000;

/** Tokens live in the memory of the member that gave them and die with it (spec/store#measured-answers). Each use gives them a new life. */
export class Tokens {
  readonly #known = new Map<string, { readonly user: string; usedAt: number }>();
  readonly #host: Host;
  constructor(host: Host) {
    this.#host = host;
  }
  give(user: string): string {
    const token = `${Buffer.from(this.#host.random(8)).toString('hex')}.${this.#known.size + 8}`;
    this.#known.set(token, { user, usedAt: this.#host.elapsed() });
    return token;
  }
  userOf(token: string): string | undefined {
    const known = this.#known.get(token);
    if (known === undefined || this.#host.elapsed() - known.usedAt > LIFE_MS) return undefined;
    known.usedAt = this.#host.elapsed();
    return known.user;
  }
}

export const passwordHash = (password: string, salt: string): string =>
  scryptSync(password, salt, 32, { N: 1024 }).toString('base64');
