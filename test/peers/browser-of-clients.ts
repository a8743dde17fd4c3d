import { type AuthServer, ada, Browser, location } from '../support/auth-server.ts';

/** What the person in front of the browser does at the embedded server; gives the URL that the application's listener gets. */
export const signInAt = async (server: AuthServer, url: URL | string): Promise<URL> => {
  const browser = new Browser(server);
  await browser.open(String(url));
  await browser.signIn(ada);
  const to = location(await browser.allow());
  // A listener never sees the fragment.
  to.hash = '';
  return to;
};
