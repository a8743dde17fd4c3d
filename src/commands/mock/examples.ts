import type { Example } from '../../cli/command.ts';

/** What people do with a console command, by its words. */
export const examples: Readonly<Record<string, readonly Example[]>> = {
  'clients create': [
    {
      line: 'opsctl mock oauth clients create --type desktop --name "My tool" --secret true',
      says: 'a desktop client with a secret, shown once',
    },
    {
      line: 'opsctl mock oauth clients create --type mobile-b --name App --bundle-id com.example.app --team-id ABCDE12345',
      says: 'a client of mobile platform B',
    },
  ],
  'consent set': [
    {
      line: 'opsctl mock oauth consent set --mode auto --user ada@demo.example',
      says: 'sign-ins of scripts need no browser',
    },
  ],
  'settings set': [
    {
      line: 'opsctl mock oauth settings set --access-token-seconds 5',
      says: 'access tokens that expire at once',
    },
  ],
  'events subscribe': [
    {
      line: 'opsctl mock oauth events subscribe --client ID --receiver http://127.0.0.1:9000/events',
      says: 'send security events to a receiver',
    },
  ],
};
