import { join } from 'node:path';
import type { Host } from '../../platform/host.ts';
import type { StoredCredentials } from './account.ts';

/** Read by TAB (src/complete.ts), which must neither decrypt anything nor ask a keychain. */
const FILE = 'accounts';

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** Names of the accounts with their servers, the current one first: nothing that is secret. Pure. */
export const accountLines = ({ accounts, current }: StoredCredentials): string => {
  const first = accounts.filter(({ name }) => name === current);
  const others = accounts.filter(({ name }) => name !== current);
  return [...first, ...others].map(({ name, server }) => `${oneLine(name)}\t${oneLine(server)}\n`).join('');
};

/** Written after the credentials and derived from them; a list that cannot be written is no reason to fail. */
export const writeAccountList = async (
  host: Host,
  directory: string,
  data: StoredCredentials,
): Promise<void> => {
  try {
    await host.files.replace(join(directory, FILE), accountLines(data), 0o600);
  } catch {
    // TAB offers what it knew before.
  }
};
