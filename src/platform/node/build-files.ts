import { readFileSync } from 'node:fs';
import { basename } from 'node:path';

/** True in the single executable, whose build sets the name: there is no directory of the program. */
export const isSingleExecutable = typeof OPSCTL_SINGLE_EXECUTABLE !== 'undefined';

type Sea = { getRawAsset(name: string): ArrayBuffer };
/** Older types of Node do not know the module. */
const sea = (): Sea => process.getBuiltinModule('node:sea' as 'node:fs') as unknown as Sea;

/** A file that the build wrote beside the module of that URL; the single executable holds it inside, by its name alone. */
export const buildFile = (place: URL): Buffer =>
  isSingleExecutable ? Buffer.from(sea().getRawAsset(basename(place.pathname))) : readFileSync(place);
