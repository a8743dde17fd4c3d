import type { Host } from '../host/host.ts';
import { exitCode } from '../kernel/exit.ts';
import { AppError, type Category, problemText } from '../kernel/problem.ts';
import { paintFor } from './color.ts';
import type { OutputOptions, Redactor } from './types.ts';
import { visible } from './visible.ts';

const codeOf = (error: AppError): string => error.detail.code ?? error.category.toUpperCase().replaceAll('-', '_');

/** decisions 5: one JSON object. */
export const errorJson = (error: AppError) => ({
  code: codeOf(error),
  category: error.category,
  exit_code: exitCode(error.category),
  http_status: error.detail.httpStatus ?? null,
  message: error.message,
  hint: error.detail.tryThis?.[0] ?? null,
  docs: error.detail.docs ?? null,
  retryable: error.detail.retryable ?? false,
  request_id: error.detail.requestId ?? null,
  problems: error.detail.problems ?? [],
  ...(error.detail.data === undefined ? {} : { data: error.detail.data }),
});

/** What a person reads: the fact, each problem on a line, what to try. */
export const errorLines = (error: AppError): string[] => [
  error.message,
  ...(error.detail.problems ?? []).map((problem) => `  ${problemText(problem)}`),
  ...(error.detail.tryThis ?? []).map((line) => `  try: ${line}`),
  ...(error.detail.requestId ? [`  request id: ${error.detail.requestId}`] : []),
];

const unexpected = (error: unknown): AppError =>
  new AppError('unknown', `unexpected: ${error instanceof Error ? error.message : String(error)}`, {
    tryThis: ['run it again with --verbose and report what it prints'],
    cause: error,
  });

/** One error on stderr; resolves with its category. */
export const renderError = async (error: unknown, options: OutputOptions, host: Host, redactor: Redactor): Promise<Category> => {
  const known = error instanceof AppError ? error : unexpected(error);
  const isJson = options.format === 'json' || options.format === 'ndjson';
  const stack = options.verbose && known.category === 'unknown' && known.cause instanceof Error ? `\n${known.cause.stack}` : '';
  const paint = await paintFor('stderr', options, host);
  const [first = '', ...rest] = errorLines(known).map(visible);
  const text = isJson ? JSON.stringify(errorJson(known)) : [`${paint.red('error:')} ${first}`, ...rest].join('\n') + stack;
  await host.terminal.stderr.write(`${redactor.clean(text)}\n`).catch(() => undefined);
  return known.category;
};
