import { isAbsolute, relative, resolve } from 'node:path';
import type { CheckFinding } from '../core/finding.ts';
import { type ReportFormat, reportFormatNames } from '../core/report-format.ts';
import { invalidArguments, problem } from '../core/problem.ts';
import type { Host } from '../platform/host.ts';
import { printable } from './printable.ts';
import type { OutputOptions, Redactor } from './types.ts';
import { annotations } from './annotations.ts';
import { codeQualityText } from './code-quality.ts';
import { junitText } from './junit.ts';
import { markdownText } from './markdown.ts';
import { sarifText } from './sarif.ts';

export type ReportFile = { readonly format: ReportFormat; readonly path: string };

const reportOf = (text: string): ReportFile | undefined => {
  const [name = '', path = ''] = text.split(/=(.*)/s);
  const format = reportFormatNames.find((one) => one === name.trim());
  return format === undefined || path === '' ? undefined : { format, path };
};

/** Returns the valid values of --report on a line whose other flags may be wrong: a usage error has its report as well. */
export const reportsOnLine = (tokens: readonly string[]): readonly ReportFile[] => {
  const own = tokens.includes('--') ? tokens.slice(0, tokens.indexOf('--')) : tokens;
  return own
    .flatMap((token, i) =>
      token === '--report' ? [own[i + 1] ?? ''] : token.startsWith('--report=') ? [token.slice(9)] : [],
    )
    .flatMap((text) => text.split(','))
    .flatMap((text) => reportOf(text) ?? []);
};

/** `junit=FILE`, several separated by commas. */
export const reportsOf = (texts: readonly string[]): readonly ReportFile[] =>
  texts
    .flatMap((text) => text.split(','))
    .map((text) => {
      const report = reportOf(text);
      if (report === undefined)
        throw invalidArguments([
          problem(
            '--report',
            'format',
            `must be ${reportFormatNames.join('|')}=FILE; got ${JSON.stringify(text)}`,
          ),
        ]);
      return report;
    });

const writers: Readonly<
  Record<ReportFormat, (title: string, version: string, findings: readonly CheckFinding[]) => string>
> = {
  junit: (title, _, findings) => junitText(title, findings),
  sarif: (_, version, findings) => sarifText(version, findings),
  codequality: (_title, _version, findings) => codeQualityText(findings),
  markdown: (title, _, findings) => markdownText(title, findings),
};

/** CI services know files by their path in the repository. */
const fromHere = ({ cwd }: Host, one: CheckFinding): CheckFinding => {
  if (one.file === undefined || !isAbsolute(one.file)) return one;
  const path = relative(cwd, one.file);
  return path.startsWith('..') ? one : { ...one, file: path };
};

const isSet = (text: string | undefined): boolean => text !== undefined && text !== '' && text !== 'false';

/** A part of a GitLab log that can be folded. */
const section = (lines: readonly string[], now: number): string[] => {
  const at = Math.floor(now / 1000);
  const [start, back] = [String.fromCharCode(27), '\r'];
  return [
    `${start}[0Ksection_start:${at}:opsctl_findings${back}${start}[0Kfindings of opsctl`,
    ...lines,
    `${start}[0Ksection_end:${at}:opsctl_findings${back}${start}[0K`,
  ];
};

/** In the words of the CI service in which this runs; nothing elsewhere, and nothing where all is well. */
export const ciLines = (
  { env, now }: Pick<Host, 'env' | 'now'>,
  findings: readonly CheckFinding[],
): string[] => {
  const lines = annotations(findings).map(printable);
  if (isSet(env.GITHUB_ACTIONS)) return lines;
  if (!isSet(env.GITLAB_CI) || lines.length === 0) return [];
  const texts = findings
    .filter(({ level }) => level !== 'pass')
    .map(({ level, rule, file, line, message }) =>
      printable(
        `${level}: ${file === undefined ? '' : `${[file, line].filter((one) => one !== undefined).join(':')}: `}${message} (${rule})`,
      ),
    );
  return section(texts, now());
};

const appendSummary = async ({ env, files }: Host, text: string): Promise<void> => {
  const path = env.GITHUB_STEP_SUMMARY;
  if (!isSet(env.GITHUB_ACTIONS) || path === undefined || !isAbsolute(path)) return;
  const before = (await files.read(path).catch(() => undefined)) ?? '';
  await files.replace(path, `${before}${text}`).catch(() => {});
};

/**
 * Writes every file of --report. A file that cannot be written does not keep the others from being written; the first failure is thrown
 * afterwards. Secrets are redacted.
 */
export const writeReportFiles = async (
  given: readonly CheckFinding[],
  options: OutputOptions,
  host: Host,
  redactor: Redactor,
): Promise<void> => {
  const findings = given.map((one) => fromHere(host, one));
  const { title = 'opsctl', version = '', reports = [] } = options;
  const failures: unknown[] = [];
  for (const { format, path } of reports)
    await host.files
      .replace(resolve(host.cwd, path), redactor.clean(writers[format](title, version, findings)))
      .catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
};

/** Writes the files of --report, then what the CI service shows without a flag. Secrets are redacted in all of them. */
export const writeReports = async (
  given: readonly CheckFinding[],
  options: OutputOptions,
  host: Host,
  redactor: Redactor,
): Promise<void> => {
  const findings = given.map((one) => fromHere(host, one));
  const title = options.title ?? 'opsctl';
  await writeReportFiles(given, options, host, redactor);
  for (const line of ciLines(host, findings))
    await host.terminal.stderr.write(`${redactor.clean(line)}\n`).catch(() => {});
  await appendSummary(host, redactor.clean(markdownText(title, findings)));
};
