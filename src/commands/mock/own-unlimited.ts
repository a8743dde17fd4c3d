import type { Settings } from '../../config/settings.ts';
import { liveServer } from '../../mock-server/instance-lock.ts';
import type { Host } from '../../platform/host.ts';
import { mockDirectory } from './embedded.ts';
import type { Ready } from './ready.ts';

const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : url);

/** Whether this URL is the mock server that runs on the state directory, without a rate limit. A file says so; nobody is asked. */
export const isOwnUnlimitedMock = (host: Host, settings: Settings, baseUrl: string): boolean => {
  const live = liveServer(host, mockDirectory(settings));
  return (
    live !== undefined &&
    originOf(live.url) === originOf(baseUrl) &&
    (live.ready as Partial<Ready> | undefined)?.tracker?.rate_limit === 'off'
  );
};
