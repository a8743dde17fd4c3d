import { loopback } from '../config/guards.ts';
import type { resolveTarget } from '../config/resolve-target.ts';
import type { Settings } from '../config/settings.ts';
import type { Host } from '../platform/host.ts';
import type { Logger, ServiceName, Target } from '../cli/command.ts';

export type Environment = {
  readonly host: Host;
  readonly settings: Settings;
  readonly log: Logger;
  readonly signal?: AbortSignal;
};

/** spec/program#settings: path prefix and brand words are part of a profile. The embedded server speaks as the documents do. */
const wordingOf = (settings: Settings): NonNullable<Target['wording']> => {
  const [basePath, planningWord] = ['tracker.base_path', 'tracker.planning_word'].map(
    (key) => settings.get(key)?.value,
  );
  return { basePath, planningWord };
};

/** A configured server as a target: its token, and for the tracker its shared rate and its wording. */
export const configuredTarget = async (
  { host, settings, log }: Environment,
  service: ServiceName,
  found: Extract<ReturnType<typeof resolveTarget>, { readonly baseUrl: string }>,
): Promise<Target> => {
  const { baseUrl, origin, token, header, prefix } = found;
  if (token !== undefined) log.hide(token);
  const headers: Record<string, string> =
    token === undefined ? {} : { [header.toLowerCase()]: prefix + token };
  const target = { baseUrl, headers, isMock: false, origin };
  if (service !== 'tracker') return target;
  const { host: address, hostname } = new URL(baseUrl);
  const rateKey = `${settings.profile.name}-${address.replace(/[^A-Za-z0-9.]/g, '-')}`;
  const isFree =
    loopback(hostname) &&
    settings.get('rate_per_minute')?.origin === 'default' &&
    (await import('./mock/own-unlimited.ts')).isOwnUnlimitedMock(host, settings, baseUrl);
  return { ...target, ...(isFree ? {} : { rateKey }), wording: wordingOf(settings) };
};
