import { oneOf, req } from '../../core/field.ts';
import { AppError } from '../../core/problem.ts';
import { nothing } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { credentialInput } from '../../auth/programs/credential-input.ts';
import { hostFlags } from './credential-flags.ts';

export const dockerCredential = defineCommand({
  path: ['auth', 'docker-credential'],
  noDryRun: 'opsctl auth status --offline says how long the token is good',
  summary: 'Give docker the token of an account, as its credential helper',
  about:
    'Speaks the protocol of docker credential helpers. docker starts a program named docker-credential-NAME: make one of two lines that calls this command.',
  args: [
    { name: 'action', field: req(oneOf('get', 'store', 'erase', 'list')), summary: 'What docker asks for' },
  ],
  flags: hostFlags,
  examples: [
    {
      line: `printf '#!/bin/sh\\nexec opsctl auth docker-credential --host registry.example.com "$1"\\n' > docker-credential-opsctl`,
      says: 'On the PATH and executable; then "credHelpers": {"registry.example.com": "opsctl"} in ~/.docker/config.json',
    },
  ],
  run: async (context, values) => {
    const [{ dockerAnswer, hostOf, isConfigured }, { credentialToken }] = await Promise.all([
      import('../../auth/programs/credential-protocols.ts'),
      import('../../auth/programs/credential-token.ts'),
    ]);
    const input = (await credentialInput(context.host)).trim();
    const username = values.username ?? 'oauth2';
    const write = (text: string) => context.host.terminal.stdout.write(text);
    if (values.action === 'list') {
      await write(
        `${JSON.stringify(Object.fromEntries(values.host.map((host) => [`https://${hostOf(host)}`, username])))}\n`,
      );
      return nothing();
    }
    if (values.action !== 'get') return nothing();
    if (isConfigured(values.host, input) && !input.startsWith('http://')) {
      await write(dockerAnswer(input, username, await credentialToken(context, values.account)));
      return nothing();
    }
    // docker looks for these words on standard output to tell a missing entry from a broken helper.
    await write('credentials not found in native keychain\n');
    throw new AppError('not-found', `${input || 'no registry'} is not among the configured hosts`, {
      code: 'HOST_NOT_CONFIGURED',
      tryThis: ['add --host to the helper'],
    });
  },
});
