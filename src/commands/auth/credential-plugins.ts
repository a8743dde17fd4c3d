import { bool, list, oneOf, req, str } from '../../core/field.ts';
import { AppError, usageError } from '../../core/problem.ts';
import { nothing } from '../../core/result.ts';
import { type Context, defineCommand, type Flags } from '../../cli/command.ts';
import { accountFlag } from './account-flag.ts';

const hostFlags = {
  host: {
    field: list(str()),
    repeat: true,
    required: true,
    value: 'host',
    summary: 'Host that gets the token; no other does',
  },
  username: { field: str(200, { min: 1 }), value: 'name', summary: 'User name to send (default oauth2)' },
  account: accountFlag,
} as const satisfies Flags;

/** A request of git or docker is a few lines. */
const maxInputBytes = 64 * 1024;
const inputOf = async (context: Context): Promise<string> => {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of context.host.terminal.stdin.bytes()) {
    parts.push(part);
    size += part.length;
    if (size > maxInputBytes)
      throw usageError(`standard input has more than ${maxInputBytes} bytes: no credential request has`, []);
  }
  return Buffer.concat(parts).toString('utf8');
};
const tokenFor = async (context: Context, account: string | undefined, refused?: string) =>
  (await import('../../auth/token.ts')).accessToken(context, { account, minTtlMs: 60_000, refused });

export const gitCredential = defineCommand({
  path: ['auth', 'git-credential'],
  noDryRun: 'opsctl auth status --offline says how long the token is good',
  summary: 'Give git the token of an account, as its credential helper',
  about:
    'Speaks the protocol of git credential helpers. A host that is not named, and any address under http://, get no token. ' +
    'erase means that the token was refused: the next get asks for a new one.',
  args: [{ name: 'action', field: req(oneOf('get', 'store', 'erase')), summary: 'What git asks for' }],
  flags: hostFlags,
  examples: [
    {
      line: `git config --global credential.https://git.example.com.helper '!opsctl auth git-credential --host git.example.com'`,
      says: 'Once; then git fetch and git push use the account',
    },
  ],
  run: async (context, values) => {
    const { gitAnswer, gitRequest, isConfigured } = await import(
      '../../auth/programs/credential-protocols.ts'
    );
    const request = gitRequest(await inputOf(context));
    const isOurs = request.protocol === 'https' && isConfigured(values.host, request.host ?? '');
    if (!isOurs || values.action === 'store') return nothing();
    if (values.action === 'erase') {
      await tokenFor(context, values.account, request.password);
      return nothing();
    }
    const token = await tokenFor(context, values.account);
    const answer = gitAnswer(request, values.host, values.username ?? 'oauth2', token);
    if (answer !== undefined) await context.host.terminal.stdout.write(answer);
    return nothing();
  },
});

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
    const { dockerAnswer, hostOf, isConfigured } = await import(
      '../../auth/programs/credential-protocols.ts'
    );
    const input = (await inputOf(context)).trim();
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
      await write(dockerAnswer(input, username, await tokenFor(context, values.account)));
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
      line: 'kubectl config set-credentials me --exec-api-version=client.authentication.k8s.io/v1 --exec-command=opsctl --exec-arg=auth --exec-arg=kubectl-credential --exec-arg=--id-token',
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
        : await tokenFor(context, values.account);
    await context.host.terminal.stdout.write(execCredential(version, token, expiresMs));
    return nothing();
  },
});
