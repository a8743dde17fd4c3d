import { bool } from '../../core/field.ts';
import { nothing } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { accountFlag } from './account-flag.ts';

export const kubectlCredential = defineCommand({
  path: ['auth', 'kubectl-credential'],
  noDryRun: 'opsctl auth status --offline says how long the token is good',
  summary: 'Give kubectl the token of an account, as its exec credential plugin',
  about:
    'Prints an ExecCredential in the version that kubectl names in KUBERNETES_EXEC_INFO. Clusters with OpenID Connect want --id-token.',
  flags: {
    account: accountFlag,
    'id-token': { field: bool(), summary: 'Send the identity token in place of the access token' },
  },
  examples: [
    {
      line: 'kubectl config set-credentials me --exec-api-version=client.authentication.k8s.io/v1 --exec-interactive-mode=IfAvailable --exec-command=opsctl --exec-arg=auth --exec-arg=kubectl-credential --exec-arg=--id-token',
      says: 'Once; then kubectl asks for a token when it needs one',
    },
  ],
  run: async (context, values) => {
    const { execCredential, kubeVersion } = await import('../../auth/programs/credential-protocols.ts');
    const version = kubeVersion(context.host.env.KUBERNETES_EXEC_INFO);
    const { token, expiresMs } =
      values['id-token'] === true
        ? await (await import('../../auth/id-token.ts')).idTokenOf(context, {
            account: values.account,
            minTtlMs: 60_000,
          })
        : await (await import('../../auth/programs/credential-token.ts')).credentialToken(
            context,
            values.account,
          );
    await context.host.terminal.stdout.write(execCredential(version, token, expiresMs));
    return nothing();
  },
});
