import { childPath, pathPart } from '../../core/file-name.ts';
import { dirname } from 'node:path';
import { AppError } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import type { Destination } from './destination-types.ts';

const partialPattern = /^\..+\.partial(-\d+)?$/;
const dayMs = 86_400_000;

/** What is there; nothing in a directory that is still to be made. What is no directory must not look like one without snapshots. */
const namesIn = async ({ files }: Host, directory: string): Promise<string[]> => {
  const real = await files.realPath(directory);
  if (real === undefined) return [];
  if ((await files.info(real))?.kind === 'directory') return files.list(real);
  throw new AppError('usage', `${directory} is not a directory`, {
    code: 'NOT_A_DIRECTORY',
    tryThis: ['name the directory that the snapshots lie in'],
  });
};

/** A directory of this machine, mode 0700. A file is built beside its place and gets its name when it is whole. */
export const directoryDestination = (host: Host, directory: string): Destination => {
  const { files } = host;
  const pathOf = (name: string): string => childPath(directory, pathPart(name));
  return {
    where: directory,
    workDirectory: directory,
    placeOf: pathOf,
    names: async () => {
      const names = await namesIn(host, directory);
      const infos = await Promise.all(
        names.map(async (name) => ({ name, info: await files.info(pathOf(name)) })),
      );
      return infos.flatMap(({ name, info }) =>
        info?.kind === 'file' ? [{ name, sizeBytes: info.sizeBytes }] : [],
      );
    },
    put: async (name, file) => {
      if (dirname(file) === directory) return files.rename(file, pathOf(name));
      await files.makeDirectory(directory, 0o700);
      await files.replaceStream(pathOf(name), files.stream(file), 0o600);
    },
    putText: (name, text) => files.replace(pathOf(name), text, 0o600),
    text: (name) => files.read(pathOf(name)),
    stream: async (name) =>
      (await files.info(pathOf(name))) === undefined ? undefined : files.stream(pathOf(name)),
    remove: (name) => files.remove(pathOf(name)),
    discardUnfinished: async () => {
      const names = (await namesIn(host, directory)).filter((name) => partialPattern.test(name));
      const infos = await Promise.all(
        names.map(async (name) => ({ name, info: await files.info(pathOf(name)) })),
      );
      const old = infos.filter(({ info }) => info !== undefined && info.modifiedMs < host.now() - dayMs);
      for (const { name } of old) await files.remove(pathOf(name));
      return old.length;
    },
    close: () => undefined,
  };
};
