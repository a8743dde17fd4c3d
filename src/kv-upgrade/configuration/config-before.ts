import { join } from 'node:path';
import type { Host } from '../../platform/host.ts';

const pathOf = (directory: string, member: string): string => join(directory, `${member}.config.before`);

/** The text of a member's configuration file as it was before the run in that directory rewrote it. */
export const configBefore = (
  host: Pick<Host, 'files'>,
  directory: string,
  member: string,
): Promise<string | undefined> => host.files.read(pathOf(directory, member));

export const keepConfigBefore = (
  host: Pick<Host, 'files'>,
  directory: string,
  member: string,
  text: string,
): Promise<void> => host.files.replace(pathOf(directory, member), text, 0o600);
