import type { Context } from '../cli/command.ts';
import { digestOf } from './digest.ts';

/**
 * The name of the service in a lock file: its base URL, so that every clone means the same; a name that was given with
 * --deployment where the URL changes. Embedded servers have no URL of their own: their state directory tells them apart.
 */
export const deploymentOf = async (context: Context, given: string | undefined): Promise<string> => {
  if (given !== undefined) return given;
  const target = await context.target('labels');
  if (target.isMock) return `embedded-${digestOf(context.settings.directories.state)}`;
  return target.baseUrl.replace(/\/+$/, '');
};
