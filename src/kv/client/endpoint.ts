import type { Bytes, HttpReply } from '../../platform/host.ts';
import type { VersionRow } from '../../api-specs/etcd/versions.ts';
import type { ClusterTls } from './certificates.ts';

export type Credentials = { readonly name: string; readonly password: string };
export type Endpoint = {
  readonly url: string;
  readonly tls?: ClusterTls;
  readonly user?: Credentials;
  /** Time to connect and between two bytes of an answer. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** What the gateway refuses stays refused. */
  readonly isGatewayOnly?: boolean;
  /** spec/store#limits: client send size 2 MiB, receive size the largest 32-bit integer. */
  readonly maxSendBytes?: number;
  readonly maxReceiveBytes?: number;
};
export type Json = Readonly<Record<string, any>>;
/** `storage`: the version of the data, from 3.6 on. */
export type Versions = { readonly server: string; readonly cluster: string; readonly storage?: string };

export type Connection = {
  readonly endpoint: Endpoint;
  /** GET of a plain path: status and text, whatever the status. */
  get(path: string): Promise<{ readonly status: number; readonly text: string }>;
  versions(): Promise<Versions>;
  row(): Promise<VersionRow>;
  /** POST below the gateway's prefix; the answer's JSON, or the store's error. */
  call(path: string | ((row: VersionRow) => string | undefined), body: Json): Promise<Json>;
  stream(path: string, body: Json): Promise<HttpReply>;
  /** A call to the store's own interface, past the gateway; HTTP/2 (default: The message is empty). */
  grpc(method: string, message?: Bytes): Promise<HttpReply>;
  /** The next call logs in again: the token died with the process that gave it. */
  forgetToken(): void;
};
