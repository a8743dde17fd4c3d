import { resolve } from 'node:path';
import type { Context } from '../cli/command.ts';

/** A path as the user of the command means it. */
export const absolute = (context: Context, path: string): string => resolve(context.host.cwd, path);
