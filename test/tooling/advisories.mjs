// @ts-check
// `npm run advisories`: checks the packages inside the program against the advisories of the registry. A release runs it, and
// the tests do not. It exits with code 0 only if the registry returned its advisories and none is for a package inside the
// program, with code 1 if one is, and with code 2 if the registry returned no advisories: then the state is unknown.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Returns the names of the packages that the program contains. All other packages in the lock file are for tests and the build.
 * @type {typeof import('./advisories.mjs').bundledNames}
 */
export const bundledNames = () => {
  const { components } = JSON.parse(readFileSync(`${root}dist/sbom.cdx.json`, 'utf8'));
  return new Set(
    components.map((/** @type {{ group?: string, name: string }} */ { group, name }) =>
      group === undefined ? name : `${group}/${name}`,
    ),
  );
};

/**
 * Returns the advisories of npm, or the reason why they are not available.
 * @type {typeof import('./advisories.mjs').readAudit}
 */
export const readAudit = () => {
  const { stdout, stderr, status, error } = spawnSync('npm', ['audit', '--json', '--audit=true'], {
    cwd: root,
    encoding: 'utf8',
    timeout: 120_000,
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error !== undefined) return { reason: error.message };
  try {
    const { vulnerabilities, message, error: failure } = JSON.parse(stdout);
    if (failure === undefined && typeof vulnerabilities === 'object' && vulnerabilities !== null)
      return { vulnerabilities };
    return {
      reason: failure?.summary || message || `npm audit returned no advisories (exit code ${status})`,
    };
  } catch {
    return { reason: stderr.trim().split('\n').at(-1) || 'no response' };
  }
};

/**
 * Splits the packages with an advisory by whether the program contains them.
 * @type {typeof import('./advisories.mjs').sortAdvisories}
 */
export const sortAdvisories = (vulnerabilities, bundled) => {
  const all = Object.values(vulnerabilities).map(({ name, severity, range }) => ({ name, severity, range }));
  return {
    inside: all.filter(({ name }) => bundled.has(name)),
    outside: all.filter(({ name }) => !bundled.has(name)),
  };
};

/** @param {{ readonly name: string, readonly severity: string, readonly range: string }} advisory */
const line = ({ name, severity, range }) => `  ${severity}: ${name} ${range}\n`;

/**
 * Returns the lines of the report and the exit code. A list that is not available is never a pass.
 * @type {typeof import('./advisories.mjs').reportAdvisories}
 */
export const reportAdvisories = ({ vulnerabilities, reason }, bundled) => {
  if (vulnerabilities === undefined)
    return {
      text: `Advisories unknown: the registry returned none: ${reason ?? 'no reason'}\n`,
      exitCode: 2,
    };
  const { inside, outside } = sortAdvisories(vulnerabilities, bundled);
  const count = (/** @type {readonly unknown[]} */ { length }, /** @type {string} */ where) =>
    length === 1 ? `1 package ${where} has an advisory\n` : `${length} packages ${where} have an advisory\n`;
  const text =
    count(inside, 'inside the program') +
    inside.map(line).join('') +
    count(outside, 'for tests and build') +
    outside.map(line).join('');
  return { text, exitCode: inside.length > 0 ? 1 : 0 };
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { text, exitCode } = reportAdvisories(readAudit(), bundledNames());
  process.stdout.write(text);
  process.exitCode = exitCode;
}
