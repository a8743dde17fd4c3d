import type { Advice } from '../../../core/next.ts';

export const sourceFormats = ['config', 'env', 'unit', 'pod', 'compose', 'command'] as const;
/** A setting in a member's configuration that the new version reads differently or ignores. */
export type ConfigFinding = {
  readonly level: 'fail' | 'warn';
  readonly key: string;
  readonly message: string;
  readonly hint: Advice;
  /** Present when `migrateConfig` fixes it. */
  readonly isFixed?: true;
  /** It changes who may connect: always a failure, even if a plan would rewrite it. */
  readonly isAccess?: true;
  /** Not while members of the previous version run: they would reject it. */
  readonly isLater?: true;
};
/**
 * A finding for a setting that both versions accept now, to be changed when every member runs the new
 * version.
 */
export const later = (key: string, message: string, hint: Advice): ConfigFinding => ({
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
  hint: Advice,
  isFixed?: true,
): ConfigFinding =>
  isFixed === undefined ? { level, key, message, hint } : { level, key, message, hint, isFixed };
