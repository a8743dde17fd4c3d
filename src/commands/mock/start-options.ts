import type { RehearsalOptions } from '../../etcd-sim/cluster/layout.ts';
import { DEFAULT } from './start-versions.ts';
import type { StartValues } from './kv-start.ts';

export const startOptions = (values: StartValues): RehearsalOptions => ({
  members: values.members ?? 3,
  version: values.version ?? DEFAULT.version,
  newVersion: values['new-version'] ?? DEFAULT.newVersion,
  word: values['field-words'] ?? 'kv',
  monitorMs: values['monitor-ms'] ?? (values['new-version']?.startsWith('3.6.') ? 4_000 : 5_000),
  heartbeatMs: values['heartbeat-ms'] ?? 100,
  electionMs: values['election-ms'] ?? 1_000,
  v2Bytes: values['v2-size'] ?? 0,
  quotaBytes: values.quota,
  auth: values.auth ?? false,
  configFiles: values['config-files'] ?? false,
});
