import { dirname, join } from 'node:path';
import type { Host } from '../platform/host.ts';
import type { Destination } from './destination-types.ts';

const partialPattern = /^\..+\.partial(-\d+)?$/;
const dayMs = 86_400_000;

/** A directory of this machine, mode 0700. A file is built beside its place and gets its name when it is whole. */
export const directoryDestination = (host: Host, directory: string): Destination => {
  const { files } = host;
  const pathOf = (name: string): string => join(directory, name);
  return {
    where: directory,
    workDirectory: directory,
    placeOf: pathOf,
    names: async () => {
      const names = await files.list(directory).catch(() => []);
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
      const names = (await files.list(directory).catch(() => [])).filter((name) => partialPattern.test(name));
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
