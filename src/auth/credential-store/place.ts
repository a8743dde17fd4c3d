import { childPath, pathPart } from '../../core/file-name.ts';
import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { AppError } from '../../core/problem.ts';
import { configuredServer } from '../configured-server.ts';
import type { AuthContext } from '../auth-context.ts';
import { isLoopback } from '../endpoints.ts';
import { mockKey } from '../settings.ts';

/**
 * Where the credentials of a sign-in are kept. A profile that somebody named holds all that is done in it. Where nobody
 * named one, each server has a profile of its own, named after it: what belongs to a real service never lies under `mock`.
 */
export type Place = { readonly profile: string; readonly directory: string };

/** Which of these profiles there are, and the one of the last sign-in. Without the file everything is in the run's own profile, as earlier versions kept it. */
export type PlaceIndex = { readonly current: string; readonly profiles: readonly string[] };

type Run = Pick<AuthContext, 'host' | 'settings'>;

const rootOf = ({ settings }: Run): string => dirname(settings.directories.state);
export const indexPath = (context: Run): string => join(rootOf(context), 'sign-ins.json');

const isIndex = (value: Partial<PlaceIndex> | null): value is PlaceIndex =>
  Array.isArray(value?.profiles) &&
  [value.current, ...value.profiles].every(
    (name) => typeof name === 'string' && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name),
  );

const parsed = (text: string, path: string): PlaceIndex => {
  try {
    const value = JSON.parse(text) as Partial<PlaceIndex> | null;
    if (isIndex(value)) return value;
  } catch {
    // Said below.
  }
  throw new AppError('config', `${path}, the list of sign-ins, cannot be read`, {
    code: 'SIGN_INS_UNREADABLE',
    tryThis: [`remove ${path} and run opsctl login`],
  });
};

const readIndex = (context: Run): PlaceIndex | undefined => {
  const path = indexPath(context);
  const text = context.host.files.readNow(path);
  return text === undefined ? undefined : parsed(text, path);
};

/** Undefined for a named profile, and before the first sign-in of this version. */
export const placeIndex = (context: Run): PlaceIndex | undefined =>
  context.settings.profile.origin === 'default' ? readIndex(context) : undefined;

const maxName = 64;

/** A name that a directory may have: host, port and path of the server. Servers on this machine change their ports and share one. */
export const profileOfServer = (server: string, own: string): string => {
  if (server === mockKey) return own;
  if (!URL.canParse(server)) return 'server';
  const url = new URL(server);
  if (isLoopback(url)) return 'localhost';
  const name = `${url.host}${url.pathname}`
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '');
  if (name.length <= maxName) return name;
  const mark = createHash('sha256').update(server).digest('hex').slice(0, 12);
  return `${name.slice(0, maxName - mark.length - 1)}-${mark}`;
};

export const ownPlace = ({ settings }: Run): Place => ({
  profile: settings.profile.name,
  directory: settings.directories.state,
});
export const placeNamed = (context: Run, name: string): Place =>
  name === context.settings.profile.name
    ? ownPlace(context)
    : { profile: name, directory: childPath(rootOf(context), pathPart(name)) };

/** Of the server that is given, else of the one that the settings name, else of the last sign-in. */
export const placeOf = (context: AuthContext, server?: string): Place => {
  const index = placeIndex(context);
  if (index === undefined) return ownPlace(context);
  const wanted = server ?? configuredServer(context);
  const name = wanted === undefined ? index.current : profileOfServer(wanted, context.settings.profile.name);
  return placeNamed(context, name);
};

/** All places of this run, the one of the last sign-in first. */
export const allPlaces = (context: Run): Place[] => {
  const index = placeIndex(context);
  if (index === undefined) return [ownPlace(context)];
  const names = [index.current, ...index.profiles, context.settings.profile.name];
  return [...new Set(names)].map((name) => placeNamed(context, name));
};

/** Those of every profile, named by somebody or after a server. */
export const placesOfAllProfiles = (context: Run, profiles: readonly string[]): Place[] =>
  [...new Set([...profiles, ...(readIndex(context)?.profiles ?? [])])].map((name) =>
    placeNamed(context, name),
  );
