import type { Host } from '../../platform/host.ts';
import type { Faults, MemberLog } from '../forms.ts';
import type { Message } from '../raft/progress.ts';
import type { MemberRecord, Proposal } from '../state/command.ts';

export type PeerInfo = {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly applied: number;
  /** Its clock, in milliseconds since 1970. */
  readonly now: number;
};
export type LinkOptions = {
  /** Who asks. */
  readonly own: string;
  readonly id: string;
  readonly url: string;
  readonly timeoutMs: number;
  readonly faults: Faults;
  readonly log: MemberLog;
  /** The other member reports that this member was removed. */
  readonly onRemoved: () => void;
};
/** The response that informs a member about its removal. */
export const REMOVED_STATUS = 410;
export const OWN_ID = 'x-member-id';
/** The other member does not accept connections of this member. Messages to it use its own connections. */
export const REFUSED_LINK = 'x-refused-link';
const certificateError =
  'x509: certificate relies on legacy Common Name field, use SANs or temporarily enable Common Name matching with GODEBUG=x509ignoreCN=0';
const errorEveryMs = 500;
/** How often a member records the time of its requests to a peer. */
const recordEveryMs = 5000;
const roundTripSeconds = 0.0002;
/**
 * The connection to one other member. Failures are values. The loss and the return of the connection are
 * logged (spec/store#measured-upgrade).
 */
export class PeerLink {
  readonly id: string;
  /** An append is being sent. The next one waits for the response. */
  isBusy = false;
  isActive = false;
  /** The time since which the peer responds; undefined while it does not. */
  activeSince: number | undefined;
  /** How often it was lost, and how often it could not be opened. */
  disconnects = 0;
  failures = 0;
  #errorAt = 0;
  /** Whether it has ever worked. Even a member that loses its peer keeps the last time of a request. */
  #wasActive = false;
  /** How long it worked before its last loss. */
  #activeMs = 0;
  readonly #began: number;
  readonly #host: Host;
  readonly #o: LinkOptions;
  constructor(host: Host, options: LinkOptions) {
    this.#host = host;
    this.#o = options;
    this.id = options.id;
    this.#began = host.elapsed();
  }
  /** The recorded times of its requests: 0 until one has succeeded. */
  get roundTrips(): { readonly count: number; readonly sum: number } {
    const count = Math.floor((this.#host.elapsed() - this.#began) / recordEveryMs);
    return { count, sum: this.#wasActive ? count * roundTripSeconds : 0 };
  }
  /** The bytes of the heartbeats on the streams that this member opened: 28 on each of two, every 5/3 s. */
  get beatBytes(): number {
    const now = this.#host.elapsed() - (this.activeSince ?? this.#host.elapsed());
    return Math.floor(((this.#activeMs + now) * 3) / 5000) * 2 * 28;
  }
  get url(): string {
    return this.#o.url;
  }
  async #ask<T>(path: string, body: unknown): Promise<T | undefined> {
    try {
      if (this.#o.faults.sendsNothing) throw new Error('i/o timeout');
      const request = {
        method: 'POST',
        url: `${this.#o.url}${path}`,
        headers: { [OWN_ID]: this.#o.own },
        body: JSON.stringify(body),
        timeoutMs: this.#o.timeoutMs,
      };
      const reply = await this.#host.network.request(request);
      const text = await reply.text();
      // The other member processed the message, but its response was lost.
      if (this.#o.faults.hearsNothing) throw new Error('i/o timeout');
      if (reply.status === REMOVED_STATUS) this.#o.onRemoved();
      if (reply.status !== 200) throw new Error(`unexpected status ${reply.status}`);
      if (this.#o.faults.failsOwnLinks || reply.headers[REFUSED_LINK] !== undefined) this.#noteRefusal();
      else this.#up();
      return JSON.parse(text) as T;
    } catch (error) {
      // A member that ends closes its connections first; only a silent one (or one cut off) times out.
      const { code } = error as { code?: string };
      this.#down(
        code === 'REFUSED' || code === 'RESET' || code === 'OTHER'
          ? 'connect: connection refused'
          : 'i/o timeout',
      );
      return undefined;
    }
  }
  #up(): void {
    if (!this.isActive) {
      this.#o.log('I', 'rafthttp', `peer ${this.id} became active`);
      for (const side of ['writer', 'reader'])
        this.#o.log(
          'I',
          'rafthttp',
          `established a TCP streaming connection with peer ${this.id} (stream Message ${side})`,
        );
      this.activeSince = this.#host.elapsed();
    }
    this.isActive = true;
    this.#wasActive = true;
  }
  /** A real member retries repeatedly and logs each error. */
  #noteRefusal(): void {
    this.failures += 1;
    this.#down(certificateError);
    if (this.#host.elapsed() < this.#errorAt) return;
    this.#errorAt = this.#host.elapsed() + errorEveryMs;
    this.#o.log('W', 'rafthttp', `health check for peer ${this.id} could not connect: ${certificateError}`);
  }
  #down(reason: string): void {
    if (this.isActive) {
      this.disconnects += 1;
      this.#o.log(
        'W',
        'rafthttp',
        `lost the TCP streaming connection with peer ${this.id} (stream Message reader)`,
      );
      this.#o.log(
        'E',
        'rafthttp',
        `failed to dial ${this.id} on stream Message (dial tcp ${new URL(this.#o.url).host}: ${reason})`,
      );
      this.#o.log('I', 'rafthttp', `peer ${this.id} became inactive`);
    }
    this.isActive = false;
    if (this.activeSince !== undefined) this.#activeMs += this.#host.elapsed() - this.activeSince;
    this.activeSince = undefined;
  }
  async raft(messages: readonly Message<Proposal>[]): Promise<Message<Proposal>[]> {
    return (await this.#ask<Message<Proposal>[]>('/raft', { messages })) ?? [];
  }
  async propose(proposal: Proposal): Promise<boolean> {
    return (await this.#ask<{ accepted: boolean }>('/raft/propose', proposal))?.accepted ?? false;
  }
  async readIndex(): Promise<number | undefined> {
    return (await this.#ask<{ index?: number }>('/raft/read-index', {}))?.index;
  }
  /** Keeps the state of the link correct even between idle members. */
  async hello(): Promise<PeerInfo | undefined> {
    return this.#ask<PeerInfo>('/raft/hello', {});
  }
  /** A request that only the leader can serve. Returns its response to `path`. */
  async ask<T>(path: string, body: unknown): Promise<T | undefined> {
    return this.#ask<T>(path, body);
  }
}

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
