import { type Advice, type ShowAdvice, showPlain } from '../core/next.ts';
import { formatRow, messageColumns, wrapMessages, wrapMessage } from '../core/format.ts';
import { type Host, NetworkError } from '../platform/host.ts';
import { cutText, exitCode, AppError, type Category, type Problem, problemText } from '../core/problem.ts';
import { limits } from '../core/limits.ts';
import { printable } from '../core/text.ts';
import { type OutputOptions, type Redactor, signsFor, isColored, themeFor } from './types.ts';
import { takeNotes } from './render.ts';

const codeOf = (error: AppError): string =>
  error.detail.code ?? error.category.toUpperCase().replaceAll('-', '_');

/** Errors of the operating system: whose affair they are, and what to do. */
type SystemAdvice = { readonly category: Category; readonly advice: string; readonly isExplained?: true };
const systemErrors: Readonly<Record<string, SystemAdvice>> = {
  EACCES: { category: 'config', advice: 'check its owner and its permissions' },
  EPERM: { category: 'config', advice: 'check its owner and its permissions' },
  EISDIR: { category: 'usage', advice: 'the path is a directory; name a file in it' },
  ENOTDIR: { category: 'usage', advice: 'a part of that path is a file, not a directory' },
  EEXIST: { category: 'usage', advice: 'name a path that does not exist yet' },
  ENOENT: { category: 'usage', advice: 'create the directory first, or name another one' },
  ELOOP: { category: 'usage', advice: 'the link leads back to itself; name the file itself' },
  ENAMETOOLONG: { category: 'usage', advice: 'use a shorter path' },
  ENOTFILE: {
    category: 'usage',
    advice: 'name a file, or hand a pipe over as <(command) or -',
    isExplained: true,
  },
  ELINKOWNER: {
    category: 'unsafe',
    advice:
      'another user could choose the file that is read or written; name the file itself, or a file in your own directory',
    isExplained: true,
  },
  EFBIG: { category: 'usage', advice: 'the file is too large; check whether it is the right one' },
  EROFS: {
    category: 'config',
    advice: 'the file system is read-only; use a file or directory on another file system',
  },
  ENOSPC: {
    category: 'config',
    advice: 'the disk is full; free some space, or name a file or directory on another one',
  },
  EDQUOT: {
    category: 'config',
    advice: 'the quota of this user is used up; free some space, or use a directory on another file system',
  },
  EIO: {
    category: 'config',
    advice: 'the disk reports errors; check the system log, or use a directory on another disk',
  },
  // bin/load.js throws this code.
  PROGRAM_FILE: { category: 'config', advice: 'install opsctl again' },
  EMFILE: { category: 'config', advice: 'too many files are open; raise `ulimit -n`' },
};

type SystemError = { readonly code?: unknown; readonly path?: unknown; readonly syscall?: unknown };

/** What to do about an error of the operating system: the state directory moves with OPSCTL_HOME, everything else by its own name. */
const adviceFor = ({ code, path, syscall }: SystemError, env: Host['env']): string | undefined => {
  const usual = typeof code === 'string' ? systemErrors[code]?.advice : undefined;
  if (usual === undefined || (code !== 'ENOSPC' && code !== 'EROFS' && code !== 'EDQUOT')) return usual;
  if (path === undefined && syscall === 'write') return 'write the output to a file on another disk';
  const homes = [env.OPSCTL_HOME, env.XDG_STATE_HOME, env.XDG_CACHE_HOME, env.XDG_CONFIG_HOME].filter(
    Boolean,
  );
  const isOwn =
    homes.some((home) => String(path).startsWith(home ?? '')) || /[/\\]opsctl[/\\]/.test(String(path));
  return isOwn ? `${usual.split(';')[0]}; OPSCTL_HOME names another directory for opsctl's own files` : usual;
};

/** Calls of the operating system, under common names. The other calls keep their names. */
const systemCalls: Readonly<Record<string, string>> = {
  mkdir: 'create',
  mkdtemp: 'create',
  scandir: 'read',
  opendir: 'read',
  readlink: 'read',
  realpath: 'read',
  stat: 'read',
  lstat: 'read',
  access: 'open',
  copyfile: 'copy',
  fsync: 'write',
  ftruncate: 'write',
  unlink: 'remove',
  rm: 'remove',
  rmdir: 'remove',
  chmod: 'change the permissions of',
  chown: 'change the owner of',
};
/**
 * The message of Node.js, `ENOSPC: no space left on device, write '/a'`, as a sentence that starts with what failed. Only
 * the paths are cut, because the reason follows them. Pure.
 */
const systemSentence = (message: string): string => {
  const [, code, reason, call = '', path] =
    /^(E[A-Z0-9]+): (.+?), ([a-z]+)(?: '(.*)')?$/s.exec(message) ?? [];
  if (code === undefined || (path === undefined && call !== 'write')) return cutText(message, 500);
  const verb = Object.hasOwn(systemCalls, call) ? systemCalls[call] : call;
  const names = path?.split("' -> '").map((name) => `"${cutText(name, 400)}"`);
  const object = names === undefined ? 'to standard output' : names.join(' to ');
  return `cannot ${verb} ${object}: ${reason} (${code})`;
};
/** `mkdir` fails with EEXIST only if the path is not a directory: opsctl uses a directory that exists. */
const systemMessage = (thrown: unknown, message: string): string => {
  const { code, syscall, path } = thrown as SystemError;
  return code === 'EEXIST' && syscall === 'mkdir' && typeof path === 'string'
    ? `${cutText(path, 500)} is not a directory`
    : systemSentence(message);
};
/**
 * Converts any thrown value into an error with a category and a hint. Only unexpected values count as bugs.
 */
export const appErrorFrom = (thrown: unknown, env: Host['env'] = {}): AppError => {
  if (thrown instanceof AppError) return thrown;
  if (thrown instanceof NetworkError) {
    if (thrown.code === 'ABORTED')
      return new AppError('interrupted', thrown.message, { code: 'ABORTED', cause: thrown });
    return new AppError('network', thrown.message, {
      code: `NETWORK_${thrown.code}`,
      retryable: thrown.code !== 'TLS',
      cause: thrown,
    });
  }
  const { name, message, code } =
    thrown instanceof Error
      ? (thrown as Error & { code?: unknown })
      : { name: '', message: String(thrown), code: undefined };
  if (name === 'AbortError') return new AppError('interrupted', 'interrupted', { cause: thrown });
  const advice = thrown instanceof Error ? adviceFor(thrown as SystemError, env) : undefined;
  if (advice !== undefined)
    return new AppError(systemErrors[String(code)]?.category ?? 'unknown', systemMessage(thrown, message), {
      code: String(code),
      tryThis: [advice],
      cause: thrown,
    });
  return new AppError('unknown', `unexpected: ${message}`, {
    tryThis: ['run it again with --verbose and report what it prints'],
    cause: thrown,
  });
};

/** A file of others may have any number of mistakes; a person fixes the first of them. */
const firstProblems = (problems: readonly Problem[] = []): readonly Problem[] =>
  problems.slice(0, limits.shownProblems);
/** Returns how many problems are not shown, as a list of one number, or an empty list. */
const leftOutProblems = (problems: readonly Problem[] = []): number[] =>
  problems.length > limits.shownProblems ? [problems.length - limits.shownProblems] : [];

/** The codes of the operating system have no page of their own, so their exit code explains them. */
const explainedName = (error: AppError): string => {
  const code = codeOf(error);
  const known = Object.hasOwn(systemErrors, code) ? systemErrors[code] : undefined;
  return known === undefined || known.isExplained ? code : String(exitCode(error.category));
};

/** spec/program#exit-codes: one JSON object with the same keys for every error. */
const errorJson = (
  error: AppError,
  notes: readonly string[],
  show: ShowAdvice,
  all: readonly Advice[] = error.detail.tryThis ?? [],
) => ({
  code: codeOf(error),
  category: error.category,
  exit_code: exitCode(error.category),
  http_status: error.detail.httpStatus ?? null,
  message: show(error.advice),
  hint: all[0] === undefined ? null : show(all[0]),
  hints: all.map((each) => show(each)),
  docs: error.detail.docs ?? `opsctl explain ${explainedName(error)}`,
  retryable: error.detail.retryable ?? false,
  ...(error.detail.outcome === undefined ? {} : { outcome: error.detail.outcome }),
  request_id: error.detail.requestId ?? null,
  problems: firstProblems(error.detail.problems).map((one) => shownProblem(one, show)),
  ...Object.fromEntries(leftOutProblems(error.detail.problems).map((count) => ['problems_left_out', count])),
  ...(error.detail.data === undefined ? {} : { data: error.detail.data }),
  ...(notes.length === 0 ? {} : { notes }),
});

const shownProblem = (one: Problem, show: ShowAdvice, isWrapped?: boolean): Problem =>
  one.hint === undefined ? one : { ...one, hint: show(one.hint, isWrapped) };
/** The only problem is often the message already. */
const isInMessage = (message: string, one: Problem): boolean =>
  message.endsWith(problemText(one)) ||
  (one.rule === 'unknown' && message.includes(`unknown flag: ${one.path}`)) ||
  // The message names the file, and the problem the flag: one fact of two layers.
  (one.line === undefined && one.hint === undefined && message.includes(` ${one.message}`));

/** Three members with one mistake need one hint: it stands with the first of them, or below all of them. Pure. */
const withHintsOnce = (problems: readonly Problem[], tryThis: readonly string[]): Problem[] => {
  const said = new Set<Advice>(tryThis);
  return problems.map((one) => {
    const { hint, ...rest } = one;
    if (hint === undefined || !said.has(hint)) {
      if (hint !== undefined) said.add(hint);
      return one;
    }
    return rest;
  });
};

/** What a person reads: the fact, each problem on a line, what to try, where to read on. */
const errorLines = ({ advice, message, detail }: AppError, show: ShowAdvice): string[] => [
  show(advice, true),
  ...withHintsOnce(
    firstProblems(detail.problems)
      .filter((one) => !isInMessage(message, one))
      .map((one) => shownProblem(one, show, true)),
    (detail.tryThis ?? []).map((line) => show(line, true)),
  ).map((one) => `  ${problemText(one)}`),
  ...leftOutProblems(detail.problems).map((count) => `  … and ${count} more`),
  ...(detail.tryThis ?? []).map((line) => `  try: ${show(line, true)}`),
  ...(detail.docs === undefined ? [] : [`  docs: ${detail.docs}`]),
  ...(detail.requestId === undefined ? [] : [`  request id: ${detail.requestId}`]),
];

const causes = (error: unknown): string[] => {
  if (!(error instanceof Error)) return [];
  return [error.stack ?? error.message, ...causes(error.cause)];
};

const errorText = async (
  error: AppError,
  options: OutputOptions,
  host: Host,
  redactor: Redactor,
): Promise<string> => {
  const { stderr } = host.terminal;
  const { red } = await themeFor(isColored(options.color, host.env, stderr.isTty));
  // Before lines are wrapped: a secret may contain a space.
  const lines = errorLines(error, options.showAdvice ?? showPlain).map((line) =>
    redactor.clean(printable(line)),
  );
  const width = messageColumns(stderr, host.env);
  const [message = '', ...rest] = lines;
  // A message of several lines has its own form.
  const first = wrapMessage(
    `error: ${message}`,
    message.includes('\n') ? Number.POSITIVE_INFINITY : width,
    '  ',
  );
  const trace = options.verbose ? causes(error.cause).map(printable) : [];
  return [
    red('error:') + first.slice('error:'.length),
    ...rest.map((line) => wrapMessages(line, width)),
    ...trace,
  ].join('\n');
};

/** A CI service shows problems in files next to the affected lines, and every finding of a check that failed. */
const annotate = async (
  error: AppError,
  options: OutputOptions,
  host: Host,
  redactor: Redactor,
): Promise<void> => {
  const { GITHUB_ACTIONS, GITLAB_CI } = host.env;
  if (!GITHUB_ACTIONS && !GITLAB_CI) return;
  const { placedFindings, showInCi } = await import('./reports.ts');
  const isChecked = options.reports !== undefined && options.checked?.isReported !== true;
  const findings = isChecked ? await findingsOf(error, options) : placedFindings(error);
  await showInCi(findings, options, host, redactor, isChecked);
};
/** What the check found before the error, and the error. */
const findingsOf = async (error: AppError, { checked }: OutputOptions) => {
  const { errorFindings } = await import('./reports.ts');
  return [...(checked?.findings ?? []), ...errorFindings(error)];
};

/** Writes the --report files for a check that failed. Returns why one of them could not be written. */
const reportedError = async (
  error: AppError,
  options: OutputOptions,
  host: Host,
  redactor: Redactor,
): Promise<string | undefined> => {
  if (options.reports === undefined || options.checked?.isReported === true) return undefined;
  const { writeReportFiles } = await import('./reports.ts');
  try {
    await writeReportFiles(await findingsOf(error, options), options, host, redactor);
    return undefined;
  } catch (failure) {
    return `cannot write the report: ${failure instanceof Error ? failure.message : String(failure)}`;
  }
};

/** One error on stderr; resolves with its category. */
export const renderError = async (
  thrown: unknown,
  options: OutputOptions,
  host: Host,
  redactor: Redactor,
): Promise<Category> => {
  const error = appErrorFrom(thrown, host.env);
  const show = options.showAdvice ?? showPlain;
  const isJson = options.format !== undefined && formatRow(options.format).isJson === true;
  const unwritten = await reportedError(error, options, host, redactor);
  const notes = unwritten === undefined ? [] : [unwritten];
  const text = isJson
    ? printable(JSON.stringify(errorJson(error, [...takeNotes(options), ...notes], show)))
    : [
        ...takeNotes(options),
        await errorText(error, { ...options, showAdvice: show }, host, redactor),
        ...notes.map((note) => `  ${printable(note)}`),
      ].join('\n');
  const clean = redactor.clean(text);
  if (!isJson) await annotate(error, options, host, redactor);
  const { stderr } = host.terminal;
  // The terminal has written ^C for the key, and the message replaces it.
  const start = error.category === 'interrupted' && stderr.isTty ? '\r' : '';
  await stderr.write(`${start}${isJson ? clean : signsFor(host.env)(clean)}\n`).catch(() => {});
  return error.category;
};
