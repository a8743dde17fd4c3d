import type { Auth, Client, StoreItem } from './state.ts';

const hex = (fingerprint: string | null): string => (fingerprint ?? '').replaceAll(':', '').toLowerCase();
const has = (item: StoreItem, account: string): boolean =>
  item.accounts.some((name) => name.toLowerCase() === account.toLowerCase());

const appProblem = (auth: Auth, client: Client, account: string): string | undefined => {
  const apps = auth.storeItems.filter(
    (item) => item.kind === 'app' && item.package_name === client.package_name,
  );
  if (apps.length === 0)
    return `no app with the package name ${client.package_name} is registered in the store console`;
  const app = apps.find((item) => hex(item.fingerprint) === hex(client.fingerprint));
  if (app === undefined) return 'the registered app has another SHA-1 fingerprint';
  return has(app, account) ? undefined : `${account} is not an administrator of the app`;
};
const extensionProblem = (auth: Auth, client: Client, account: string): string | undefined => {
  const item = auth.storeItems.find(
    (entry) => entry.kind === 'extension' && entry.item_id === client.item_id,
  );
  if (item === undefined) return `no item with the ID ${client.item_id} is registered in the store`;
  if (!has(item, account)) return `${account} is not the publisher of the item`;
  const delayMs = auth.settings().ownership_delay_seconds * 1000;
  return auth.env.now() - item.granted_at < delayMs
    ? 'access to the item was granted a moment ago: try again in a few minutes'
    : undefined;
};

/** spec/sign-in#authentication-6: why the ownership of an application cannot be verified; undefined when it is. */
export const ownershipProblem = (auth: Auth, client: Client, account: string): string | undefined => {
  if (client.type === 'mobile-a') return appProblem(auth, client, account);
  if (client.type === 'browser-extension') return extensionProblem(auth, client, account);
  return `clients of the type ${client.type} have no ownership verification`;
};
