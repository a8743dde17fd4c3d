/** Something in a member's configuration that the new version reads differently, or not at all. */
export type ConfigFinding = {
  readonly level: 'fail' | 'warn';
  readonly key: string;
  readonly message: string;
  readonly hint: string;
  /** Present when `migrateConfig` fixes it. */
  readonly isFixed?: true;
  /** It changes who may connect: never less than a failure, whether a plan would rewrite it or not. */
  readonly isAccess?: true;
  /** Not while members of the version before still run: they would not know it. */
  readonly isLater?: true;
};
/** Good for both versions now, to be rewritten when every member runs the new one. */
export const later = (key: string, message: string, hint: string): ConfigFinding => ({
  level: 'warn',
  key,
  message,
  hint: `keep it until every member runs 3.6, then ${hint}`,
  isFixed: true,
  isLater: true,
});
export const finding = (
  level: ConfigFinding['level'],
  key: string,
  message: string,
  hint: string,
  isFixed?: true,
): ConfigFinding =>
  isFixed === undefined ? { level, key, message, hint } : { level, key, message, hint, isFixed };

/** Keys that every version from 3.2 to 3.5 reads, by the kind of value without which the server does not start (seen on real servers). */
const wholeKeys = [
  ...['heartbeat-interval', 'election-timeout', 'snapshot-count', 'max-snapshots', 'max-wals', 'max-txn-ops'],
  // spec/store#items: integer bytes, server-side request size limit.
  'max-request-bytes',
];
const signedKeys = ['quota-backend-bytes'];
const switchKeys = ['debug', 'enable-v2', 'enable-pprof', 'strict-reconfig-check', 'force-new-cluster'];
const textKeys = [
  ...[
    'name',
    'data-dir',
    'wal-dir',
    'listen-peer-urls',
    'listen-client-urls',
    'initial-advertise-peer-urls',
    'advertise-client-urls',
  ],
  ...['initial-cluster', 'initial-cluster-state', 'initial-cluster-token', 'auto-compaction-mode'],
];
// The servers read YAML 1.1: there `yes` is true and 1_000 a number. What may be either is not complained of.
const mayBeNumber = (value: unknown): boolean =>
  typeof value === 'string' && /^[-+]?(0[xob]|\d+_)/i.test(value);
const mayBeSwitch = (value: unknown): boolean =>
  typeof value === 'string' && /^(y|n|yes|no|on|off)$/i.test(value);
const isWhole = (least: number) => (value: unknown) =>
  (typeof value === 'number' && Number.isInteger(value) && value >= least) || mayBeNumber(value);
type Kind = {
  readonly keys: readonly string[];
  readonly fits: (value: unknown) => boolean;
  readonly what: string;
  readonly hint: string;
};
const kinds: readonly Kind[] = [
  { keys: wholeKeys, fits: isWhole(0), what: 'a whole number', hint: 'write digits, without quotes' },
  {
    keys: signedKeys,
    fits: isWhole(Number.MIN_SAFE_INTEGER),
    what: 'a whole number',
    hint: 'write digits, without quotes',
  },
  {
    keys: switchKeys,
    fits: (value) => typeof value === 'boolean' || mayBeSwitch(value),
    what: 'true or false',
    hint: 'write true or false, without quotes',
  },
  { keys: textKeys, fits: (value) => typeof value === 'string', what: 'text', hint: 'put it in quotes' },
];
const formatValue = (value: unknown): string => {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
};
/** Values of a kind that the server cannot read. A key without a value counts as not there. Pure. */
export const typeFindings = (file: Readonly<Record<string, unknown>>): ConfigFinding[] =>
  kinds.flatMap(({ keys, fits, what, hint }) =>
    keys.flatMap((key): ConfigFinding[] => {
      const value = file[key] ?? undefined;
      if (value === undefined || fits(value)) return [];
      return [
        {
          level: 'fail',
          key,
          message: `is ${formatValue(value)}, which is not ${what}: the server would not start`,
          hint,
        },
      ];
    }),
  );
