import { childPath, pathPart } from '../../../core/file-name.ts';
import type { Host } from '../../../platform/host.ts';

const pathOf = (directory: string, member: string): string =>
  childPath(directory, pathPart(`${member}.config.before`));

/** The text of a member's configuration file as a run of an earlier opsctl kept it in its own directory; today's are on the member's host. */
export const configBefore = (
  host: Pick<Host, 'files'>,
  directory: string,
  member: string,
): Promise<string | undefined> => host.files.read(pathOf(directory, member));
