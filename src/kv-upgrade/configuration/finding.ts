/** Something in a member's configuration that the new version reads differently, or not at all. */
export type ConfigFinding = {
  readonly level: 'fail' | 'warn';
  readonly key: string;
  readonly message: string;
  readonly hint: string;
  /** Present when `migrateConfig` fixes it. */
  readonly isFixed?: true;
};

export const finding = (
  level: ConfigFinding['level'],
  key: string,
  message: string,
  hint: string,
  isFixed?: true,
): ConfigFinding =>
  isFixed === undefined ? { level, key, message, hint } : { level, key, message, hint, isFixed };
