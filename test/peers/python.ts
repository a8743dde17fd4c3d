/** Debian's Python packages, unpacked into the test cache: nothing is installed, and no root is needed. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
// @ts-expect-error: a plain script, shared with other tests.
import { fetchPackages } from '../real/packages.mjs';
// @ts-expect-error: a plain script, shared with other tests.
import { testCache } from '../tooling/cache.mjs';

export type PythonPackages = {
  readonly command: string;
  /** PYTHONPATH. */
  readonly path: string;
  /** Why the packages cannot be used here. */
  readonly missing?: string;
};

/** The system's own first: compiled packages are made for it. */
const commands = ['/usr/bin/python3', 'python3'];
const runs = (command: string, path: string, module: string): boolean =>
  spawnSync(command, ['-W', 'ignore', '-c', `import ${module}`], {
    env: { PATH: process.env.PATH, PYTHONPATH: path },
  }).status === 0;

/** `module` is what has to be importable; `name` is the directory in the cache. */
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

/** On CI the packages have to be there. */
export const isLeftOut = ({ missing }: PythonPackages): boolean =>
  missing !== undefined && process.env['OPSCTL_TEST_IN_CI'] !== 'true';
