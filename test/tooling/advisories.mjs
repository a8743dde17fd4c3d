// @ts-check
// `npm run advisories`: checks the packages inside the program against the advisories of the registry. It is not a part
// of the tests. If the registry does not respond, it reports that and exits with code 0.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Returns the names of the packages that the program contains. All other packages in the lock file are for tests and the build. */
const bundledNames = () => {
  const { components } = JSON.parse(readFileSync(`${root}dist/sbom.cdx.json`, 'utf8'));
  return new Set(
    components.map((/** @type {{ group?: string, name: string }} */ { group, name }) =>
      group === undefined ? name : `${group}/${name}`,
    ),
  );
};

/** Returns the advisories of npm, or the reason why they are not available. */
const readAudit = () => {
  const { stdout, stderr, error } = spawnSync('npm', ['audit', '--json', '--audit=true'], {
    cwd: root,
    encoding: 'utf8',
    timeout: 120_000,
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error !== undefined) return { reason: error.message };
  try {
    const { vulnerabilities, message, error: failure } = JSON.parse(stdout);
    if (vulnerabilities !== undefined) return { vulnerabilities };
    return { reason: failure?.summary || message || 'no list of advisories' };
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

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { vulnerabilities, reason } = readAudit();
  if (vulnerabilities === undefined) process.stdout.write(`Advisories not checked: ${reason}\n`);
  else {
    const { inside, outside } = sortAdvisories(vulnerabilities, bundledNames());
    process.stdout.write(
      `${inside.length} packages inside the program have an advisory\n${inside.map(line).join('')}`,
    );
    process.stdout.write(
      `${outside.length} packages for tests and build have an advisory\n${outside.map(line).join('')}`,
    );
    process.exitCode = inside.length > 0 ? 1 : 0;
  }
}
