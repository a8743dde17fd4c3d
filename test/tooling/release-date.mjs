// @ts-check
// The date of a release. Manual pages, SBOM and packages contain it, so that the same commit produces the same bytes.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The date that npm writes into every package. A build without a version history uses it. */
const NPM_EPOCH = 499_162_500;

/** @param {string} root @param {string} version */
const changelogSeconds = (root, version) => {
  const path = join(root, 'CHANGELOG.md');
  if (!existsSync(path)) return undefined;
  const [, day] =
    new RegExp(`^## \\[${version.replaceAll('.', '\\.')}\\] - (\\d{4}-\\d{2}-\\d{2})$`, 'm').exec(
      readFileSync(path, 'utf8'),
    ) ?? [];
  return day === undefined ? undefined : Date.parse(`${day}T00:00:00Z`) / 1000;
};

/**
 * Returns the commit time only if `root` is the top of the history. A copy inside another checkout has no date.
 * @param {string} root
 */
const commitSeconds = (root) => {
  if (!existsSync(join(root, '.git'))) return undefined;
  const { status, stdout } = spawnSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' });
  return status === 0 && /^\d+$/.test(stdout.trim()) ? Number(stdout) : undefined;
};

/**
 * Returns seconds since 1970 from the first available source: SOURCE_DATE_EPOCH, the day of this version in the
 * changelog, the last commit, or the fixed date of npm packages.
 * @type {typeof import('./release-date.mjs').releaseSeconds}
 */
export const releaseSeconds = (root, version, env = process.env) => {
  const given = env.SOURCE_DATE_EPOCH;
  if (given !== undefined && given !== '') {
    if (!/^\d{1,11}$/.test(given))
      throw new Error(
        `invalid SOURCE_DATE_EPOCH "${given}": must be seconds since 1970, for example 1764547200`,
      );
    return Number(given);
  }
  return changelogSeconds(root, version) ?? commitSeconds(root) ?? NPM_EPOCH;
};

/**
 * Returns the day of a time, as `2026-12-01`.
 * @type {typeof import('./release-date.mjs').dayOf}
 */
export const dayOf = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 10);
