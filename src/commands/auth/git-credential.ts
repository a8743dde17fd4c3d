import { req, str } from '../../core/field.ts';
import { nothing } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { credentialInput } from '../../auth/programs/credential-input.ts';
import { hostFlags } from './credential-flags.ts';

export const gitCredential = defineCommand({
  path: ['auth', 'git-credential'],
  noDryRun: 'opsctl auth status --offline says how long the token is good',
  summary: 'Give git the token of an account, as its credential helper',
  about:
    'Speaks the protocol of git credential helpers. A host that is not named, and any address under http://, get no token. ' +
    'erase means that the token was refused: the next get asks for a new one.',
  args: [{ name: 'action', field: req(str()), summary: 'Operation of git: get, store or erase' }],
  flags: hostFlags,
  examples: [
    {
      line: `git config --global credential.https://git.example.com.helper '!opsctl auth git-credential --host git.example.com'`,
      says: 'Once; then git fetch and git push use the account',
    },
  ],
  run: async (context, values) => {
    const [{ gitAnswer, gitRequest, isConfigured }, { credentialToken }] = await Promise.all([
      import('../../auth/programs/credential-protocols.ts'),
      import('../../auth/programs/credential-token.ts'),
    ]);
    // gitcredentials(7): a helper silently ignores operations that it does not know, such as capability of git 2.46.
    if (!['get', 'store', 'erase'].includes(values.action)) return nothing();
    const request = gitRequest(await credentialInput(context.host));
    const isOurs = request.protocol === 'https' && isConfigured(values.host, request.host ?? '');
    if (!isOurs || values.action === 'store') return nothing();
    if (values.action === 'erase') {
      await credentialToken(context, values.account, request.password);
      return nothing();
    }
    const token = await credentialToken(context, values.account);
    const answer = gitAnswer(request, values.host, values.username ?? 'oauth2', token);
    if (answer !== undefined) await context.host.terminal.stdout.write(answer);
    return nothing();
  },
});
