import type { Minor } from './versions.ts';

/** Settings whose name changes with 3.6. Until every member runs it the old names serve both versions; 3.7 knows only the new ones. */
export type Renamed = { readonly old: string; readonly now: string; readonly kind?: 'duration' };

const experimental = (now: string, kind?: 'duration'): Renamed => ({
  old: `experimental-${now}`,
  now,
  ...(kind === undefined ? {} : { kind }),
});

export const renamedIn36: readonly Renamed[] = [
  experimental('bootstrap-defrag-threshold-megabytes'),
  experimental('compaction-batch-limit'),
  experimental('compaction-sleep-interval', 'duration'),
  experimental('compact-hash-check-time', 'duration'),
  experimental('corrupt-check-time', 'duration'),
  experimental('enable-distributed-tracing'),
  experimental('distributed-tracing-address'),
  experimental('distributed-tracing-instance-id'),
  experimental('distributed-tracing-sampling-rate'),
  experimental('distributed-tracing-service-name'),
  experimental('downgrade-check-time', 'duration'),
  experimental('memory-mlock'),
  experimental('peer-skip-client-san-verification'),
  experimental('snapshot-catchup-entries'),
  experimental('warning-apply-duration', 'duration'),
  experimental('warning-unary-request-duration', 'duration'),
  experimental('watch-progress-notify-interval', 'duration'),
];

/** Switches that become feature gates. */
export type Gated = { readonly old: string; readonly gate: string };
export const gatedIn36: readonly Gated[] = [
  { old: 'experimental-initial-corrupt-check', gate: 'InitialCorruptCheck' },
  { old: 'experimental-compact-hash-check-enabled', gate: 'CompactHashCheck' },
  { old: 'experimental-enable-lease-checkpoint', gate: 'LeaseCheckpoint' },
  { old: 'experimental-enable-lease-checkpoint-persist', gate: 'LeaseCheckpointPersist' },
  { old: 'experimental-stop-grpc-service-on-defrag', gate: 'StopGRPCServiceOnDefrag' },
  { old: 'experimental-txn-mode-write-with-shared-buffer', gate: 'TxnModeWriteWithSharedBuffer' },
];
export const gatesIn36: readonly string[] = [...gatedIn36.map(({ gate }) => gate), 'SetMemberLocalAddr'];

/** Flags that 3.5 ends at, and keys that its file ignores without a word. */
export const newIn36: readonly string[] = [
  'feature-gates',
  'max-learners',
  'log-format',
  ...renamedIn36.map(({ now }) => now),
];

/** In the file a duration is a number of nanoseconds, as a flag it is `1m`. */
export const durationsInFile: readonly string[] = [
  'grpc-keepalive-min-time',
  'grpc-keepalive-interval',
  'grpc-keepalive-timeout',
  ...renamedIn36.flatMap(({ old, now, kind }) => (kind === 'duration' ? [old, now] : [])),
];

/** Values that a version refuses or takes for another one, by setting. */
export type RefusedValue = {
  readonly minor: Minor;
  readonly key: string;
  readonly value: string;
  /** What happens when a flag, a variable, or a key of the file has it. */
  readonly flag: 'stops' | 'warns';
  readonly variable: 'stops' | 'warns';
  readonly file: 'ignored';
  readonly instead: string;
};
export const refusedValues: readonly RefusedValue[] = [
  {
    minor: '3.6',
    key: 'v2-deprecation',
    value: 'not-yet',
    flag: 'stops',
    variable: 'stops',
    file: 'ignored',
    instead: 'leave it out: 3.6 enforces write-only',
  },
  {
    minor: '3.6',
    key: 'discovery-fallback',
    value: 'proxy',
    flag: 'stops',
    variable: 'stops',
    file: 'ignored',
    instead: 'discovery-fallback: exit',
  },
];
