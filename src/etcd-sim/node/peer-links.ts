import type { MemberRecord } from '../state/membership.ts';
import type { PeerLink } from './peer-link.ts';

/** One link to each other member: those of members that left are dropped, a member at a new address gets a new one. */
export class PeerLinks {
  readonly #links = new Map<string, PeerLink>();
  readonly #own: string;
  readonly #open: (id: string, url: string) => PeerLink;
  constructor(own: string, open: (id: string, url: string) => PeerLink) {
    this.#own = own;
    this.#open = open;
  }
  get(id: string): PeerLink | undefined {
    return this.#links.get(id);
  }
  has(id: string): boolean {
    return this.#links.has(id);
  }
  values(): readonly PeerLink[] {
    return [...this.#links.values()];
  }
  keep(members: readonly MemberRecord[]): void {
    const others = members.filter(({ id }) => id !== this.#own);
    for (const id of this.#links.keys())
      if (!others.some((member) => member.id === id)) this.#links.delete(id);
    for (const { id, peerUrls } of others) {
      const url = peerUrls[0] ?? '';
      if (this.#links.get(id)?.url !== url) this.#links.set(id, this.#open(id, url));
    }
  }
}
