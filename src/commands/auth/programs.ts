import { trustCall } from '../../core/program-call.ts';
import { resolve } from 'node:path';
import type { SetupRequest } from '../../auth/programs/setup.ts';
import { codeOf, runAttended } from '../../cli/aliases.ts';
import { keys } from '../../config/settings.ts';
import { commandArgument, defineCommand } from '../../cli/command.ts';
import { bool, duration, list, oneOf, req, str } from '../../core/field.ts';
import type { Flags, ValuesOf } from '../../core/flag.ts';
import { AppError, problem, type Problem } from '../../core/problem.ts';
import { nothing, rowsResult } from '../../core/result.ts';
import { accountFlag } from './account.ts';

const commandNotFound = 127;
export const exec = defineCommand({
  path: ['auth', 'exec'],
  leavesSignalsToChild: true,
  noDryRun: 'opsctl auth status --offline shows the expiry of the token',
  summary: 'Run a command with an automatically renewed access token',
  about:
    "Writes the access token to a private file and sets OPSCTL_TOKEN_FILE to its path. Replaces the token before it expires, and removes the file when the command exits. If opsctl is killed, the next auth command removes it. The token never appears in the environment or the process list. Exits with the command's exit code. Write -- before the command.",
  args: [commandArgument],
  flags: {
    account: accountFlag,
    'min-ttl': {
      field: duration(),
      value: 'duration',
      summary: 'Minimum remaining lifetime of the token in the file (default 1m)',
    },
  },
  examples: [
    {
      line: `opsctl auth exec -- sh -c 'curl -H "Authorization: Bearer $(cat "$OPSCTL_TOKEN_FILE")" https://api.example.com/'`,
      says: 'Run a long job that reads the file whenever it needs the token',
    },
  ],
  run: async (context, values) => {
    const { parseDuration } = await import('../../core/format.ts');
    const { openTokenFile } = await import('../../auth/programs/credential-protocols.ts');
    const minTtlMs = parseDuration(values['min-ttl'] ?? '1m', '--min-ttl');
    const file = await openTokenFile(context, { account: values.account, minTtlMs });
    const { host, signal } = context;
    // The child gets the token file, and not the secrets that opsctl signed in with.
    const secrets = keys.flatMap(({ key, env, secret }) =>
      secret && env !== undefined && /^(auth\.|access_token)/.test(key) ? [[env, undefined] as const] : [],
    );
    const env = { ...Object.fromEntries(secrets), OPSCTL_TOKEN_FILE: file.path };
    const ended = await runAttended(host, trustCall(values.command), { env, signal }).finally(() =>
      file.close(),
    );
    if (ended.startError !== undefined) {
      await host.terminal.stderr.write(
        `error: cannot run ${values.command[0]}: ${ended.startError}\n  try: write -- before the command, and pass each argument separately\n`,
      );
      return host.exit(commandNotFound);
    }
    // Only --max-time ends the command from here.
    signal.throwIfAborted();
    if (codeOf(ended) !== 0) host.exit(codeOf(ended));
    return nothing();
  },
});

/** The setting that git and docker need to use this credential helper. */
const hostFlags = {
  host: {
    field: list(str()),
    repeat: true,
    required: true,
    value: 'host',
    summary: 'Host that receives the token; no other host does',
  },
  username: { field: str(200, { min: 1 }), value: 'name', summary: 'User name to send (default oauth2)' },
  account: accountFlag,
} as const satisfies Flags;

export const dockerCredential = defineCommand({
  path: ['auth', 'docker-credential'],
  noDryRun: 'opsctl auth status --offline shows the expiry of the token',
  summary: 'Act as a docker credential helper',
  about:
    'Implements the protocol of docker credential helpers. docker runs a program named docker-credential-NAME; create a two-line script with that name that runs this command.',
  args: [
    {
      name: 'action',
      field: req(str()),
      summary: 'Operation that docker requests: get, store, erase or list',
    },
  ],
  flags: hostFlags,
  examples: [
    {
      line: `printf '#!/bin/sh\\nexec opsctl auth docker-credential --host registry.example.com "$1"\\n' > docker-credential-opsctl`,
      says: 'Install the helper; then add "credHelpers": {"registry.example.com": "opsctl"} to ~/.docker/config.json',
    },
  ],
  run: async (context, values) => {
    const { credentialInput, credentialToken, dockerAnswer, hostOf, isConfigured } = await import(
      '../../auth/programs/credential-protocols.ts'
    );
    // This helper does not support the operations that later versions of docker add.
    if (!['get', 'list'].includes(values.action)) return nothing();
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
    // docker searches standard output for these words to distinguish a missing entry from a failed helper.
    await write('credentials not found in native keychain\n');
    throw new AppError('not-found', `${input || 'no registry'} is not a configured host`, {
      code: 'HOST_NOT_CONFIGURED',
      tryThis: ['add --host to the helper'],
    });
  },
});

export const gitCredential = defineCommand({
  path: ['auth', 'git-credential'],
  noDryRun: 'opsctl auth status --offline shows the expiry of the token',
  summary: 'Act as a git credential helper',
  about:
    'Implements the protocol of git credential helpers. Hosts without --host and http:// URLs receive no token. erase means that the server rejected the token; the next get requests a new token.',
  args: [{ name: 'action', field: req(str()), summary: 'Git operation: get, store or erase' }],
  flags: {
    ...hostFlags,
    authtype: {
      effects: [],
      field: oneOf('basic', 'bearer'),
      value: 'basic|bearer',
      summary:
        'How git sends the token: as a password (default), or as Bearer to servers that require it (git 2.46 or newer)',
    },
  },
  examples: [
    {
      line: `git config --global credential.https://git.example.com.helper '!opsctl auth git-credential --host git.example.com'`,
      says: 'Configure git once; then git fetch and git push use the account',
    },
  ],
  run: async (context, values) => {
    const { credentialInput, credentialToken, gitAnswer, gitRequest, isConfigured } = await import(
      '../../auth/programs/credential-protocols.ts'
    );
    // gitcredentials(7): a helper silently ignores operations that it does not know, such as capability of git 2.46.
    if (!['get', 'store', 'erase'].includes(values.action)) return nothing();
    const request = gitRequest(await credentialInput(context.host));
    const isOurs = request.protocol === 'https' && isConfigured(values.host, request.host ?? '');
    if (!isOurs || values.action === 'store') return nothing();
    if (values.action === 'erase') {
      await credentialToken(context, values.account, request.password ?? request.credential);
      return nothing();
    }
    const token = await credentialToken(context, values.account);
    const wanted = values.authtype === 'bearer' ? request : { ...request, 'capability[]': '' };
    const answer = gitAnswer(wanted, values.host, values.username ?? 'oauth2', token);
    if (answer !== undefined) await context.host.terminal.stdout.write(answer);
    return nothing();
  },
});

export const kubectlCredential = defineCommand({
  path: ['auth', 'kubectl-credential'],
  noDryRun: 'opsctl auth status --offline shows the expiry of the token',
  summary: 'Act as a kubectl exec credential plugin',
  about:
    'Prints an ExecCredential in the version that KUBERNETES_EXEC_INFO specifies. Clusters with OpenID Connect require --id-token.',
  flags: {
    account: accountFlag,
    'id-token': { field: bool(), summary: 'Send the identity token instead of the access token' },
  },
  examples: [
    {
      line: 'kubectl config set-credentials me --exec-api-version=client.authentication.k8s.io/v1 --exec-interactive-mode=IfAvailable --exec-command=opsctl --exec-arg=auth --exec-arg=kubectl-credential --exec-arg=--id-token',
      says: 'Configure kubectl once; it then requests a token when needed',
    },
  ],
  run: async (context, values) => {
    const { execCredential, kubeVersion } = await import('../../auth/programs/credential-protocols.ts');
    const version = kubeVersion(context.host.env.KUBERNETES_EXEC_INFO);
    const { token, expiresMs } =
      values['id-token'] === true
        ? await (await import('../../auth/token.ts')).idTokenOf(context, {
            account: values.account,
            minTtlMs: 60_000,
          })
        : await (await import('../../auth/programs/credential-protocols.ts')).credentialToken(
            context,
            values.account,
          );
    await context.host.terminal.stdout.write(execCredential(version, token, expiresMs));
    return nothing();
  },
});

const setupFlags = {
  host: {
    effects: ['writes'],
    field: list(str()),
    repeat: true,
    value: 'host',
    summary: 'Host that receives the token, for git and docker; can be repeated',
  },
  username: {
    effects: [],
    field: str(200, { min: 1 }),
    value: 'name',
    summary: 'User name to send, for git and docker (default oauth2)',
  },
  account: accountFlag,
  'id-token': {
    effects: [],
    field: bool(),
    summary: 'kubectl: send the identity token, which clusters with OpenID Connect require',
  },
  authtype: {
    effects: [],
    field: oneOf('basic', 'bearer'),
    value: 'basic|bearer',
    summary: 'git: send the token as a password (default) or as Bearer (git 2.46 or newer)',
  },
  user: {
    effects: ['writes'],
    field: str(100, { min: 1 }),
    value: 'name',
    summary: 'kubectl: name of the user entry (default opsctl)',
  },
  'bin-dir': {
    effects: ['writes'],
    field: str(),
    value: 'directory',
    summary: 'docker: directory on the PATH for the helper program (default ~/.local/bin)',
    complete: 'file',
  },
  remove: { effects: ['writes'], field: bool(), summary: 'Remove what this command wrote' },
} as const satisfies Flags;
type SetupValues = ValuesOf<typeof setupFlags> & { readonly program: SetupRequest['program'] };
/** Flags that belong to one of the programs only. */
const flagsOfPrograms: Readonly<Record<string, readonly SetupRequest['program'][]>> = {
  host: ['git', 'docker'],
  username: ['git', 'docker'],
  'id-token': ['kubectl'],
  authtype: ['git'],
  user: ['kubectl'],
  'bin-dir': ['docker'],
};
const setupProblems = (values: SetupValues): Problem[] => {
  const given: Readonly<Record<string, unknown>> = values;
  const others = Object.entries(flagsOfPrograms).filter(
    ([name, programs]) => given[name] !== undefined && !programs.includes(values.program),
  );
  const needsHost = values.program !== 'kubectl' && (values.host ?? []).length === 0;
  return [
    ...others.map(([name, programs]) =>
      problem(`--${name}`, 'exclusive', `is for ${programs.join(' and ')}`),
    ),
    ...(needsHost ? [problem('--host', 'required', `is required for ${values.program}`)] : []),
  ];
};
/** What the helper command gets besides its hosts. */
const helperFlags = (values: SetupValues): string[] => [
  ...(values.username === undefined ? [] : ['--username', values.username]),
  ...(values.authtype === undefined ? [] : ['--authtype', values.authtype]),
  ...(values['id-token'] === true ? ['--id-token'] : []),
  ...(values.account === undefined ? [] : ['--account', values.account]),
];
export const setup = defineCommand({
  path: ['auth', 'setup'],
  summary: 'Set up git, docker or kubectl to use the account',
  about:
    'Writes the credential helper into the configuration of the program: ~/.gitconfig, ~/.docker/config.json with a helper program, or the kubeconfig. Keeps all other content, reports each place, and changes nothing if the configuration is already right. --remove removes exactly these entries.',
  args: [{ name: 'program', field: req(oneOf('git', 'docker', 'kubectl')), summary: 'Program to configure' }],
  flags: setupFlags,
  examples: [
    {
      line: 'opsctl auth setup git --host git.example.com',
      says: 'Let git fetch and git push use the account',
    },
    { line: 'opsctl auth setup docker --host registry.example.com', says: 'Let docker pull use the account' },
    {
      line: 'opsctl auth setup kubectl --id-token',
      says: 'Create the kubectl user opsctl for a cluster with OpenID Connect',
    },
    { line: 'opsctl auth setup git --host git.example.com --remove', says: 'Remove the configuration' },
  ],
  check: setupProblems,
  run: async (context, values) => {
    const { setUp } = await import('../../auth/programs/setup.ts');
    const { profile } = context.settings;
    const isNamed = profile.origin === 'flag --profile';
    const { changes, notes } = await setUp(context.host, {
      program: values.program,
      hosts: values.host ?? [],
      flags: [...helperFlags(values), ...(isNamed ? ['--profile', profile.name] : [])],
      user: values.user ?? 'opsctl',
      ...(values['bin-dir'] === undefined
        ? {}
        : { binDirectory: resolve(context.host.cwd, values['bin-dir']) }),
      removes: values.remove === true,
      isDryRun: context.isDryRun,
    });
    for (const note of notes) context.log.info(note);
    return rowsResult(changes, { columns: ['change', 'file', 'entry'], name: 'entry' });
  },
});
