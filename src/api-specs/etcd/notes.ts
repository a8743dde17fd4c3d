import type { Minor } from './versions.ts';

/** Notes for operators about a version that no check of a member can cover (spec/store#procedure). */
export const upgradeNotes: Readonly<Partial<Record<Minor, readonly string[]>>> = {
  '3.3': [
    'test services that depend on the store against the new version in a staging environment first',
    'upgraded members log "the local etcd version … is not up-to-date" and "member … has a higher version" until all members run 3.3; these lines are expected',
    'gRPC server logs are off by default; the debug setting turns them on',
    'container images of 3.3 are published at a new place: check the registry of new_image',
  ],
  '3.4': ['clients that call the gateway under /v3beta keep working; /v3alpha returns 404'],
  '3.5': ['the logger is zap: log lines are JSON, so filters for the old text format no longer match'],
  '3.6': ['3.6 has no v2 interface and does not start with v2 data'],
};
