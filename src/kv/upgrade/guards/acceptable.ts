/** Guards whose `fail` an operator may take as a warning. Nobody may accept a skipped version or a wrong binary. */
export const acceptable: readonly string[] = [
  'all-members-healthy',
  'quorum-survives',
  'members-keep-up',
  'disk-space',
  'configuration-fits',
  'data-directories',
  'leader-agreed',
  'known-versions',
  'quota',
  'no-v2-data',
  'v2-backup',
];
