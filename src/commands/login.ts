import { defineCommand, type Command } from '../cli/command.ts';
import { loginProblems } from '../auth/login/contradictions.ts';
import { loginFlags } from './login-flags.ts';

const login = defineCommand({
  path: ['login'],
  noDryRun: 'opsctl login --start prints the address and sends nothing',
  summary: 'Sign in with the browser and store the tokens',
  about:
    'Opens the authorization page in the browser (authorization code with PKCE) and waits on a loopback port for the answer. The address is always printed first; ' +
    'while the command waits, the address that the browser ends at, its query or the code alone can be pasted. With nothing configured it signs in at the embedded mock server.',
  flags: loginFlags,
  examples: [
    { line: 'opsctl login', says: 'Sign in with the default scopes' },
    {
      line: 'opsctl login --auth-url https://accounts.example.com --token-url https://oauth2.example.com --client-id ID --scope SCOPE',
      says: 'At a server of your own',
    },
    {
      line: 'opsctl login --no-browser',
      says: 'On a machine without a browser: open the address elsewhere and paste the result',
    },
    { line: 'opsctl login --start', says: 'Print the address now; later: opsctl login --finish URL' },
    { line: 'opsctl login --add-scope SCOPE', says: 'Ask for one more permission and keep the others' },
  ],
  check: loginProblems,
  run: async (context, values) => (await import('../auth/login/run.ts')).runLogin(context, values),
});

export const commands: readonly Command[] = [login];
