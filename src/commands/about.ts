import { redactedUrl } from '../core/redact-secrets.ts';
import { join } from 'node:path';
import type { Context } from '../api/context.ts';
import { type Command, defineCommand, type Group } from '../cli/command.ts';
import { flagName } from '../core/flag.ts';
import { bool, list, str } from '../core/field.ts';
import { childPath, pathPart } from '../core/file-name.ts';
import { durationText } from '../core/format.ts';
import { operations, type Service } from '../core/operation.ts';
import { after, next, type NextStep } from '../core/next.ts';
import { AppError } from '../core/problem.ts';
import { rawResult, recordResult, type Result, rowsResult } from '../core/result.ts';
import { nearest } from '../core/text.ts';
import { tour, type TourContext } from '../support/tour.ts';
import { pathOf } from './labels/flags.ts';

const services = async (): Promise<Service[]> => [
  (await import('../api-specs/tracker/index.ts')).tracker,
  (await import('../api-specs/labels/labels.ts')).labelsService,
];
/** Compares word by word, so that one mistyped word is found at any position. */
const nearestPath = (words: readonly string[], paths: readonly (readonly string[])[]): string | undefined => {
  const found: string[] = [];
  for (const [i, word] of words.entries()) {
    const below = paths.filter((path) => found.every((name, at) => path[at] === name));
    const close = nearest(word, new Set(below.flatMap((path) => path[i] ?? [])));
    if (close === undefined) return undefined;
    found.push(close);
  }
  return found.join(' ');
};
const reference = defineCommand({
  path: ['reference'],
  summary: 'Show the fields, limits and errors of an endpoint',
  args: [
    {
      name: 'words',
      effects: [],
      field: list(str()),
      summary: 'Service, resource and verb; fewer arguments list the matching endpoints',
      rest: true,
      optional: true,
    },
  ],
  examples: [{ line: 'opsctl reference tracker labels create', says: 'One endpoint' }],
  run: async (_context, { words = [] }) => {
    const { entryOf, entryText } = await import('../reference/entry.ts');
    const all = (await services()).flatMap((service) =>
      operations(service.table).map(({ resource, verb, operation }) => {
        const words = [service.name, ...flagName(resource).split(' '), operation.cli?.verb ?? flagName(verb)];
        return entryOf(service, service.name === 'labels' ? pathOf(words) : words, operation);
      }),
    );
    const wanted = ['opsctl', ...(words as string[])].join(' ');
    const exact = all.find((entry) => entry.command === wanted);
    if (exact) return recordResult(exact, { text: entryText(exact) });
    const some = all.filter((entry) => entry.command.startsWith(wanted));
    if (some.length > 0)
      return rowsResult(some, { columns: ['command', 'request', 'summary'], name: 'command' });
    const close = nearestPath(
      words as string[],
      all.map(({ command }) => command.split(' ').slice(1)),
    );
    const hint = close === undefined ? '' : `; did you mean ${close}?`;
    throw new AppError('usage', `endpoint not found: ${words.join(' ')}${hint}`, {
      code: 'UNKNOWN_ENDPOINT',
      tryThis: [close === undefined ? 'opsctl reference' : `opsctl reference ${close}`],
    });
  },
});
export const commands: readonly Command[] = [reference];

/** What to read instead: the help of a command, a similar name, or the list. */
const otherPages = (
  words: readonly string[],
  close: string | undefined,
  groups: readonly Group[],
): NextStep[] => [
  ...(groups.some(({ name }) => name === words[0])
    ? [next([...words, '--help'], 'for help of the command')]
    : []),
  ...(close === undefined ? [] : [next(['explain', close])]),
  next(['explain'], 'to list every name'),
];
const makeUnexplainedError = (
  words: readonly string[],
  names: readonly string[],
  groups: readonly Group[],
): AppError => {
  const close = nearest(words.join(' '), names);
  return new AppError(
    'usage',
    `no explanation found for ${words.join(' ')}${close === undefined ? '' : `; did you mean ${close}?`}`,
    { code: 'NOTHING_TO_EXPLAIN', tryThis: otherPages(words, close, groups) },
  );
};
const explainOver = (groups: readonly Group[]): Command =>
  defineCommand({
    path: ['explain'],
    summary: 'Explain a guard, an error code, an exit code, a setting or a field',
    about:
      'Shows the meaning, the causes, the fix and an example. Without a name, lists every name that has a page.',
    args: [
      {
        name: 'name',
        effects: [],
        field: list(str()),
        summary: 'For example quorum-survives, NO_TOKEN, 11, tracker.url, or the path of a field',
        rest: true,
        optional: true,
        complete: 'explainable',
      },
    ],
    examples: [
      { line: 'opsctl explain quorum-survives', says: 'Explain a preflight check of an upgrade' },
      { line: 'opsctl explain NO_TOKEN', says: 'Explain an error code' },
      { line: 'opsctl explain 20', says: 'Explain an exit code' },
      { line: 'opsctl explain tracker labels create name', says: 'Show a field with its limits' },
    ],
    run: async ({ host, isFormatGiven }, { name: words = [] }) => {
      const { explainable, explanationOf } = await import('../cli/explain.ts');
      if (words.length === 0) return rowsResult(explainable(), { name: 'name' });
      const page = await explanationOf(words as string[]);
      if (page === undefined) {
        const names = explainable().map(({ name }) => name);
        throw makeUnexplainedError(words as string[], names, groups);
      }
      const { helpWidth, pageText } = await import('../output/page-text.ts');
      const { stdout } = host.terminal;
      const text = pageText(page, helpWidth(stdout.columns));
      // Like a help page: a person who searches the page needs text, and a program asks for JSON.
      return stdout.isTty || isFormatGiven === true
        ? recordResult(page, { text })
        : rawResult(`${text.trimEnd()}\n`);
    },
  });
export const explainCommandsOver = (groups: readonly Group[]): readonly Command[] => [explainOver(groups)];

const last = `
Next:
  opsctl --help                      all commands
  opsctl mock serve                  the services as a server for your scripts
  opsctl config set tracker.url URL  connect to a real deployment
  opsctl kv init                     write a cluster file
`;
const command = defineCommand({
  path: ['tour'],
  noDryRun: 'opsctl tour --help',
  summary: 'Demonstrate sign-in, tracker and cluster upgrade on the embedded services',
  about:
    'Runs the real commands in a temporary directory, prints each command with its output, and removes the directory at the end. Does not read or change your settings.',
  flags: { keep: { field: bool(), summary: 'Keep the temporary directory' } },
  run: async (context, values) => {
    const { host } = context;
    const directory = childPath(
      host.files.temporaryDirectory(),
      pathPart(`opsctl-tour-${Buffer.from(host.random(4)).toString('hex')}`),
    );
    await host.files.makeDirectory(directory, 0o700);
    const own = Object.fromEntries(
      Object.keys(host.env).flatMap((name) => (name.startsWith('OPSCTL_') ? [[name, undefined]] : [])),
    );
    const { stdout } = host.terminal;
    const width = stdout.isTty ? { COLUMNS: String(stdout.columns) } : {};
    const env = { ...own, ...width, OPSCTL_HOME: join(directory, 'home') };
    const trip: TourContext = { context, directory, env };
    const start = host.elapsed();
    try {
      await tour(trip);
    } finally {
      if (!values.keep) await host.files.remove(directory);
    }
    return rawResult(
      `\nAll three jobs done in ${durationText(host.elapsed() - start)}.\n${values.keep ? `Everything is in ${directory}\n` : ''}${last}`,
    );
  },
});
export const tourCommands: readonly Command[] = [command];

const CHECK_MS = 30_000;
const requiresFlag = (flag: string, other: string): AppError =>
  new AppError('usage', `${flag} requires ${other}`, {
    tryThis: ['opsctl version --verify --checksums SHA256SUMS'],
  });
const verifyResult = async (
  { host }: Context,
  own: Readonly<Record<string, unknown>>,
  checksums: string | undefined,
  publicKey: string | undefined,
): Promise<Result> => {
  if (publicKey !== undefined && checksums === undefined) throw requiresFlag('--public-key', '--checksums');
  const { isIntact, verificationText, verifyInstallation } = await import('../support/installation.ts');
  const release = checksums === undefined ? undefined : { checksums, publicKey };
  const found = await verifyInstallation(host, OPSCTL_VERSION, release);
  const text = verificationText(OPSCTL_VERSION, found);
  return recordResult(
    { ...own, ...found, is_intact: isIntact(found) },
    { text },
    isIntact(found) ? undefined : 'no',
  );
};
const version = defineCommand({
  path: ['version'],
  summary: 'Show the version, check for a newer version, or verify the files',
  about:
    'Without --check, makes no network requests. With --verify, compares the files of this installation with the checksums in its package and exits with code 20 if a file differs. The checksums detect damage. To detect manipulation, add --checksums with the signed SHA256SUMS of the release; opsctl verifies SHA256SUMS.minisig next to it and exits with code 10 if the signature is invalid. With --check, queries the configured npm registry, or the page of the setting update_url, for the newest version and exits with code 20 if a newer version exists. `opsctl config set update_notice on` makes this check once a day and prints a notice.',
  flags: {
    check: {
      effects: [],
      field: { type: 'boolean' },
      summary: 'Query npm or the page of update_url for the newest version',
    },
    verify: {
      effects: [],
      field: { type: 'boolean' },
      summary: 'Compare the installed files with the checksums of the package',
    },
    sbom: {
      effects: [],
      field: { type: 'boolean' },
      summary: 'List the packages inside this installation: a CycloneDX bill of materials with -o json',
    },
    checksums: {
      effects: ['reads'],
      field: { type: 'string' },
      summary: 'With --verify: SHA256SUMS of the release, with SHA256SUMS.minisig next to it',
      value: 'file',
      complete: 'file',
    },
    'public-key': {
      effects: ['reads'],
      field: { type: 'string' },
      summary:
        'With --checksums: minisign key of the maintainers, or its file (default: the key in the program)',
      value: 'key',
      complete: 'file',
    },
  },
  examples: [
    { line: 'opsctl version', says: 'Version, runtime and platform' },
    { line: 'opsctl version -o json', says: 'Print the version for a bug report' },
    { line: 'opsctl version --check', says: 'Check for a newer version' },
    { line: 'opsctl version --verify', says: 'Verify the installed files' },
    {
      line: 'opsctl version --sbom -o json > sbom.cdx.json',
      says: 'Give a vulnerability scanner the packages of this installation, without a network',
    },
    {
      line: 'opsctl version --verify --checksums SHA256SUMS --public-key minisign.pub',
      says: 'Verify that the installation is the release that the maintainers signed',
    },
  ],
  run: async (context, { check: isAsked, verify, sbom, checksums, 'public-key': publicKey }) => {
    const { runtime, platform } = context.host;
    const own = { version: OPSCTL_VERSION, runtime, platform };
    const asked = Object.entries({ check: isAsked, verify, sbom }).flatMap(([name, is]) =>
      is ? [name] : [],
    );
    if (asked.length > 1)
      throw new AppError('usage', `--${asked[0]} cannot be combined with --${asked[1]}`, {
        tryThis: asked.map((name) => `opsctl version --${name}`),
      });
    if (sbom === true && checksums === undefined && publicKey === undefined) {
      const { billText, readBillOfMaterials } = await import('../support/installation.ts');
      const bill = await readBillOfMaterials(context.host, OPSCTL_VERSION);
      return recordResult(bill, { text: billText(bill) });
    }
    if (verify === true) return verifyResult(context, own, checksums, publicKey);
    if (checksums !== undefined) throw requiresFlag('--checksums', '--verify');
    if (publicKey !== undefined) throw requiresFlag('--public-key', '--checksums');
    const text = `opsctl ${OPSCTL_VERSION} (${runtime}, ${platform})`;
    if (isAsked !== true) return recordResult(own, { text });
    const { compareReleases, latestVersion } = await import('../support/installation.ts');
    const latest = await latestVersion(context, CHECK_MS);
    const order = compareReleases(OPSCTL_VERSION, latest);
    const isCurrent = order >= 0;
    const newest = order > 0 ? `newer than the newest release ${latest}` : 'the newest';
    const said = isCurrent ? `${text}: ${newest}` : `${text}; the newest is ${latest}`;
    return recordResult(
      { ...own, latest, is_current: isCurrent },
      { text: said },
      isCurrent ? undefined : 'no',
    );
  },
});
export const versionCommands: readonly Command[] = [version];

type Identity = {
  readonly account: string | null;
  readonly detail: string;
  readonly server?: string | null;
  /** Where the token comes from: a variable, a profile or the sign-in. */
  readonly token?: string | null;
  readonly expires_at?: string | null;
  readonly scopes?: readonly string[] | null;
};
/** One row for each service that knows the person: who it takes the request for. */
const identify = async (
  service: string,
  describe: () => Promise<Partial<Identity>>,
  read: () => Promise<Identity>,
): Promise<Identity & { readonly service: string }> => {
  let known: Partial<Identity> = { server: null, token: null, expires_at: null, scopes: null };
  try {
    known = { ...known, ...(await describe()) };
    const { account, detail, ...own } = await read();
    return { service, account, detail, ...known, ...own };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { service, account: null, detail: error.message, ...known };
  }
};
const readTrackerMember = async (context: Context) => {
  const { tracker } = await import('../api-specs/tracker/index.ts');
  const me = (await context.lookups.call(tracker, tracker.table.members.me, {})) as {
    readonly name?: string;
    readonly mention_name?: string;
    readonly role?: string;
  };
  return { account: `${me.name ?? ''} (@${me.mention_name ?? ''})`, detail: me.role ?? '' };
};
/** One name for the embedded server in all rows: its port changes with each command. */
const embeddedServer = 'embedded mock server';
/** The server and the origin of the token, which are known even if the server rejects the token. */
const describeTracker = async (context: Context): Promise<Partial<Identity>> => {
  const { baseUrl, isMock, isPassing } = await context.target('tracker');
  return {
    server: isPassing === true ? embeddedServer : redactedUrl(baseUrl),
    token: isMock ? 'mock' : (context.settings.get('tracker.token')?.origin ?? null),
  };
};
const readSignIn = async (context: Context): Promise<Identity> => {
  const { storedAccount } = await import('../auth/server-profiles.ts');
  const { describeAccount } = await import('../auth/credential-store/account.ts');
  const { instantNow } = await import('../auth/auth-context.ts');
  const account = await storedAccount(context, undefined);
  const {
    server: origin,
    scopes,
    expires_at,
    missing_scopes: missing,
  } = describeAccount(account, instantNow(context.host));
  const server = origin === 'mock' ? embeddedServer : origin;
  const detail = missing.length === 0 ? 'signed in' : `signed in without ${missing.join(', ')}`;
  return { account: account.name, detail, server, token: 'sign-in', scopes, expires_at };
};
const whoami = defineCommand({
  path: ['whoami'],
  summary: 'Show who you are for each service',
  about:
    'The tracker reports the member whose token opsctl sends. The sign-in is the stored account of `opsctl login`. Each row names the server and where the token comes from, also if the server rejects the token. opsctl does not contact the server of the sign-in.',
  examples: [
    { line: 'opsctl whoami', says: 'Check the accounts before a change' },
    {
      line: "opsctl whoami --jq '.[] | {service, server, token}'",
      says: 'Print which server gets which token',
    },
  ],
  run: async (context) => {
    const tracker = await identify(
      'tracker',
      () => describeTracker(context),
      () => readTrackerMember(context),
    );
    const signIn = await identify(
      'sign-in',
      async () => ({}),
      () => readSignIn(context),
    );
    return rowsResult([tracker, signIn], {
      columns: ['service', 'account', 'detail', 'server', 'token'],
      wideColumns: ['expires_at', 'scopes'],
      name: 'account',
      ...(signIn.account === null ? { message: after('to sign in, run', ['login']) } : {}),
    });
  },
});
export const whoamiCommands = [whoami];
