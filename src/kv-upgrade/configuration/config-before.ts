import { join } from 'node:path';
import type { Host } from '../../platform/host.ts';

const pathOf = (folder: string, member: string): string => join(folder, `${member}.config.before`);

/** The text of a member's configuration file as it was before the run in that folder rewrote it. */
export const configBefore = (
  host: Pick<Host, 'files'>,
  folder: string,
  member: string,
): Promise<string | undefined> => host.files.read(pathOf(folder, member));

export const keepConfigBefore = (
  host: Pick<Host, 'files'>,
  folder: string,
  member: string,
  text: string,
): Promise<void> => host.files.replace(pathOf(folder, member), text, 0o600);
