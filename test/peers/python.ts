/** Debian's Python packages, extracted into the test cache without an installation and without root. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
// @ts-expect-error: a plain script, shared with other tests.
import { fetchPackages } from '../real/packages.mjs';
// @ts-expect-error: a plain script, shared with other tests.
import { testCache } from '../tooling/cache.mjs';

export type PythonPackages = {
  readonly command: string;
  /** The value of PYTHONPATH. */
  readonly path: string;
  /** The reason why the packages are not available on this machine. */
  readonly missing?: string;
};

/** The system's own Python has priority, because its compiled packages match it. */
const commands = ['/usr/bin/python3', 'python3'];
const runs = (command: string, path: string, module: string): boolean =>
  spawnSync(command, ['-W', 'ignore', '-c', `import ${module}`], {
    env: { PATH: process.env.PATH, PYTHONPATH: path },
  }).status === 0;

/** `module` must be importable, and `name` is the directory in the cache. */
export const pythonPackages = (name: string, packages: readonly string[], module: string): PythonPackages => {
  const directory = join(testCache(process.env), name);
  const path = join(directory, 'bookworm', 'usr/lib/python3/dist-packages');
  const found = (): string | undefined => commands.find((command) => runs(command, path, module));
  const given = existsSync(path) ? found() : undefined;
  if (given !== undefined) return { command: given, path };
  mkdirSync(directory, { recursive: true });
  const reason: string | undefined = fetchPackages(
    { suite: 'bookworm', name: 'bookworm', packages },
    directory,
  );
  const command = found();
  if (command !== undefined) return { command, path };
  const missing = reason ?? 'no python3 of this machine can import them';
  process.stderr.write(`left out: Python's ${module}: ${missing}\n`);
  return { command: 'python3', path, missing };
};

export const oauthPackages = (): PythonPackages =>
  pythonPackages(
    'python-oauth',
    [
      ...['authlib', 'flask', 'werkzeug', 'jinja2', 'markupsafe', 'click', 'itsdangerous', 'colorama'],
      ...['requests-oauthlib', 'oauthlib', 'google-auth', 'google-auth-oauthlib', 'requests', 'urllib3'],
      ...['chardet', 'charset-normalizer', 'idna', 'certifi', 'six', 'cachetools', 'rsa', 'pyasn1'],
      ...['pyasn1-modules', 'cryptography', 'cffi-backend', 'jwt', 'blinker'],
    ].map((name) => `python3-${name}`),
    'authlib, flask, requests_oauthlib, google.auth, google_auth_oauthlib',
  );

/** On CI the packages must be available. */
export const isLeftOut = ({ missing }: PythonPackages): boolean =>
  missing !== undefined && process.env['OPSCTL_TEST_IN_CI'] !== 'true';
