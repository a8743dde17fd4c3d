import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { AppError } from '../core/problem.ts';
import type { Host } from '../platform/host.ts';

export type Verification = {
  readonly directory: string;
  readonly files: number;
  readonly changed: readonly string[];
  readonly missing: readonly string[];
  readonly added: readonly string[];
  /** SHA-256 of the list itself: two installations of one release have the same. */
  readonly sha256: string;
};

const LIST = 'dist/SHA256SUMS';
const sha256 = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex');

/** The directory of the package. Throws for an executable that does not have its own files. */
const packageDirectory = async ({ self, files }: Host): Promise<string> => {
  const [executable, program] = self;
  if (program === undefined)
    throw new AppError('config', 'cannot verify a single executable: it contains no separate files', {
      code: 'NOT_VERIFIABLE',
      tryThis: [`sha256sum ${executable}, and compare with SHA256SUMS of the release`],
    });
  return dirname(dirname((await files.realPath(program)) ?? program));
};

/** Files below a directory, as paths from the package. */
const filesBelow = async (files: Host['files'], root: string, at: string): Promise<string[]> => {
  const names = await files.list(join(root, at));
  const found = await Promise.all(
    names.map(async (name) => {
      const path = `${at}/${name}`;
      const info = await files.info(join(root, path));
      return info?.kind === 'directory' ? filesBelow(files, root, path) : [path];
    }),
  );
  return found.flat();
};

/** Compares the files of this installation with the checksums that its package contains. */
export const verifyInstallation = async (host: Host): Promise<Verification> => {
  const directory = await packageDirectory(host);
  const list = await host.files.read(join(directory, LIST));
  if (list === undefined)
    throw new AppError('config', `cannot verify ${directory}: ${LIST} not found`, {
      code: 'NOT_VERIFIABLE',
      tryThis: ['install a package: only `npm pack` and `npm run release` write the checksums'],
    });
  const rows = [...list.matchAll(/^([0-9a-f]{64}) {2}(.+)$/gm)].map(([, sum = '', path = '']) => ({
    sum,
    path,
  }));
  const expected = new Map(rows.map(({ sum, path }) => [path, sum]));
  const [changed, missing]: [string[], string[]] = [[], []];
  for (const { sum, path } of rows) {
    const data = await host.files.readBytes(join(directory, path));
    if (data === undefined) missing.push(path);
    else if (sha256(data) !== sum) changed.push(path);
  }
  const present = (
    await Promise.all(['bin', 'dist'].map((part) => filesBelow(host.files, directory, part)))
  ).flat();
  const added = present.filter((path) => path !== LIST && !expected.has(path)).sort();
  return { directory, files: rows.length, changed, missing, added, sha256: sha256(list) };
};

/** The verification for a terminal: one line, or one line for each file that differs. */
export const verificationText = (version: string, found: Verification): string => {
  const rows = (['changed', 'missing', 'added'] as const).flatMap((state) =>
    found[state].map((path) => `${state.padEnd(8)} ${path}`),
  );
  const head =
    rows.length === 0
      ? `Verified opsctl ${version}: ${found.files} files match the checksums of the package`
      : `opsctl ${version} in ${found.directory} differs from its package`;
  return [head, ...rows, `SHA-256 of ${LIST}: ${found.sha256}`].join('\n');
};
