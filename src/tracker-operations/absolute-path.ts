import { isAbsolute, join } from 'node:path';
import type { Context } from '../cli/command.ts';

/** A path as the user of the command means it. */
export const absolute = (context: Context, path: string): string =>
  isAbsolute(path) ? path : join(context.host.cwd, path);
