import { type Probe, errorInLocation } from '../probe.ts';
import { safeText } from '../scopes.ts';
import type { HttpResponse } from '../protocol/token-client.ts';

/** One statement about an authorization server that a client can test from outside. */
export type Check = {
  readonly id: string;
  readonly says: string;
  /** `spec/sign-in …` is the service itself, `RFC …` any server of the standard. */
  readonly source: string;
  run(probe: Probe): Promise<Outcome>;
};
export type Outcome = { readonly holds: boolean; readonly saw: string };
export type Row = {
  readonly id: string;
  readonly holds: boolean;
  readonly says: string;
  readonly saw: string;
  readonly source: string;
};

export const errorOf = (read: HttpResponse): string | undefined => {
  try {
    const { error } = JSON.parse(read.text) as { error?: unknown };
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
};

/** A short description of a response without secrets. */
export const sawOf = (read: HttpResponse): string => {
  const location = read.headers.location;
  const to = location === undefined ? '' : ` to ${safeText(location.split(/[?#]/)[0] ?? '', 60)}`;
  const error = errorOf(read) ?? errorInLocation(location);
  return `HTTP ${read.status}${to}${error === undefined ? '' : ` ${safeText(error, 40)}`}`;
};

/** True if a response leads to `uri`, which means that the server accepted it as a redirect target. */
export const leadsTo = (read: HttpResponse, uri: string): boolean =>
  read.headers.location?.startsWith(uri) ?? false;

export const outcome = (holds: boolean, read: HttpResponse): Outcome => ({ holds, saw: sawOf(read) });
