import { type AuthServer, ada, Browser, location } from '../support/auth-server.ts';

/** Plays the user at the browser of the embedded server and returns the URL that the application's listener receives. */
export const signInAt = async (server: AuthServer, url: URL | string): Promise<URL> => {
  const browser = new Browser(server);
  await browser.open(String(url));
  await browser.signIn(ada);
  const to = location(await browser.allow());
  // A listener never receives the fragment.
  to.hash = '';
  return to;
};
