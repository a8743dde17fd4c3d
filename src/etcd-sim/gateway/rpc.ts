import type { Host } from '../../platform/host.ts';
import type { Faults } from '../faults.ts';
import type { Form } from '../forms.ts';
import type { MemberLog } from '../log.ts';
import type { Lessor } from '../node/lessor.ts';
import type { Node } from '../node/node.ts';
import type { MemberRecord } from '../state/membership.ts';
import type { ServerSettings } from '../server-flags.ts';
import type { Tokens } from './tokens.ts';

/** What the interfaces of one member work on. */
export type Api = {
  readonly host: Host;
  readonly node: Node;
  readonly form: Form;
  readonly settings: ServerSettings;
  readonly faults: Faults;
  readonly log: MemberLog;
  readonly lessor: Lessor;
  readonly tokens: Tokens;
  readonly version: string;
  readonly clusterId: string;
  /** The members with whom the log begins. */
  readonly first: readonly MemberRecord[];
  /** `kv` (spec/store) or the word of real servers. */
  readonly word: string;
  /** Bytes that /v2/keys answers with. */
  readonly v2Bytes: number;
};
export type Body = Readonly<Record<string, unknown>>;
export type Stream = { readonly stream: AsyncIterable<Uint8Array> };
export type Call = {
  readonly body: Body;
  readonly token: string | undefined;
  /** Aborted when the client has gone. */
  readonly signal?: AbortSignal;
};
export type Rpc = (api: Api, call: Call) => Promise<Body | Stream>;

/** A refusal with the gRPC code and text that the gateway passes on. */
export class RpcError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const httpCodes: Readonly<Record<number, number>> = {
  1: 408,
  2: 500,
  3: 400,
  4: 504,
  5: 404,
  6: 409,
  7: 403,
  8: 403,
  9: 412,
  11: 400,
  12: 501,
  14: 503,
  15: 500,
  16: 401,
};
/** spec/store#measured-versions, spec/store#measured-answers: gateway status of a gRPC code. */
export const httpCode = (code: number, form: Form): number =>
  form.isGateway2 && code === 8
    ? 429
    : code === 9 && form.errorBody === 'code+message'
      ? 400
      : (httpCodes[code] ?? 500);

export const errorText = (form: Form, code: number, message: string): string => {
  if (form.errorBody === 'error+code') return JSON.stringify({ error: message, code });
  if (form.errorBody === 'error+message+code') return JSON.stringify({ error: message, message, code });
  return spaced({ code, message });
};

/** JSON with `", "` between fields, as 3.5 writes it. */
export const spaced = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const pairs = Object.entries(value).filter(([, one]) => one !== undefined);
  return `{${pairs.map(([key, one]) => `${JSON.stringify(key)}:${spaced(one)}`).join(', ')}}`;
};

/** A stream of one piece. */
export async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Zero values are left out, as the gateway does. */
export const filled = (record: Body): Body =>
  Object.fromEntries(
    Object.entries(record).filter(
      ([, v]) =>
        v !== undefined &&
        v !== '' &&
        v !== '0' &&
        v !== 0 &&
        v !== false &&
        !(Array.isArray(v) && v.length === 0),
    ),
  );
