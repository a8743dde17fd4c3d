import { existsSync } from 'node:fs';
import { buildFile, isSingleExecutable } from './build-files.ts';

/** The build puts these texts beside its chunks. */
export const buildText = (name: string): string | undefined => {
  const place = new URL(`./${name}`, import.meta.url);
  return isSingleExecutable || existsSync(place) ? buildFile(place).toString('utf8') : undefined;
};
