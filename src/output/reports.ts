import { isInside } from '../core/file-name.ts';
import { adviceText } from '../core/next.ts';
import { escapeMarkdown, escapeXml, printable } from '../core/text.ts';
import { hash } from 'node:crypto';
import { isAbsolute, relative, resolve } from 'node:path';
import { type ReportFormat, reportFormatNames } from '../core/format.ts';
import { type AppError, invalidArguments, problem, type Problem } from '../core/problem.ts';
import type { CheckFinding } from '../core/result.ts';
import type { Host } from '../platform/host.ts';
import type { OutputOptions, Redactor } from './types.ts';

/** No CI service shows more annotations of one run. */
const MOST_ANNOTATIONS = 50;
const data = (text: string): string =>
  text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const property = (text: string): string => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
const commands = { fail: 'error', warn: 'warning', unknown: 'notice', pass: undefined } as const;
/** Returns the annotations that GitHub shows next to the line of the file. The last one counts those that are left out. Pure. */
export const annotations = (findings: readonly CheckFinding[]): string[] => {
  const all = allAnnotations(findings);
  if (all.length <= MOST_ANNOTATIONS) return all;
  const more = all.length - MOST_ANNOTATIONS + 1;
  return [
    ...all.slice(0, MOST_ANNOTATIONS - 1),
    `::warning title=${more} more findings::The summary of the job and the files of --report contain all findings`,
  ];
};
const allAnnotations = (findings: readonly CheckFinding[]): string[] =>
  findings.flatMap((one) => {
    const command = commands[one.level];
    if (command === undefined) return [];
    const properties = [
      ...(one.file === undefined ? [] : [`file=${property(one.file)}`]),
      ...(one.line === undefined ? [] : [`line=${one.line}`]),
      ...(one.column === undefined ? [] : [`col=${one.column}`]),
      `title=${property(one.subject === undefined ? one.rule : `${one.rule}: ${one.subject}`)}`,
    ];
    const text = one.hint === undefined ? one.message : `${one.message} (${one.hint})`;
    return [`::${command} ${properties.join(',')}::${data(text)}`];
  });

const severities = { fail: 'major', warn: 'minor', unknown: 'info', pass: 'info' } as const;
/** A finding keeps its fingerprint in later runs, even if its line moves. */
const fingerprintOf = ({ rule, file, subject, message }: CheckFinding): string =>
  hash('sha256', JSON.stringify([rule, file ?? '', subject ?? '', message]));
/** Findings in the changes of a merge request. Passed checks are not findings there. Pure. */
export const codeQualityText = (findings: readonly CheckFinding[]): string => {
  const rows = findings
    .filter(({ level }) => level !== 'pass')
    .map((one) => ({
      description: one.hint === undefined ? one.message : `${one.message} (${one.hint})`,
      check_name: one.rule,
      fingerprint: fingerprintOf(one),
      severity: severities[one.level],
      location: { path: one.file ?? '.', lines: { begin: one.line ?? 1 } },
    }));
  return `${JSON.stringify(rows, null, 2)}\n`;
};

const outcomeOf = ({ level, message, hint, rule }: CheckFinding): string => {
  const text = escapeXml(hint === undefined ? message : `${message} (${hint})`);
  if (level === 'fail')
    return `<failure message="${escapeXml(message)}" type="${escapeXml(rule)}">${text}</failure>`;
  // A check that was not made has neither passed nor failed.
  if (level === 'unknown') return `<skipped message="${escapeXml(message)}">${text}</skipped>`;
  return level === 'warn' ? `<system-out>warning: ${text}</system-out>` : '';
};
const caseOf = (suite: string, one: CheckFinding): string => {
  const name = one.subject === undefined ? one.rule : `${one.rule}: ${one.subject}`;
  const file = one.file === undefined ? '' : ` file="${escapeXml(one.file)}"`;
  const line = one.line === undefined ? '' : ` line="${one.line}"`;
  return `    <testcase classname="${escapeXml(suite)}" name="${escapeXml(name)}"${file}${line}>${outcomeOf(one)}</testcase>`;
};
/** Test results: each finding is a test case, and a check that could not be made is skipped. Pure. */
export const junitText = (suite: string, findings: readonly CheckFinding[]): string => {
  const count = (level: CheckFinding['level']): number =>
    findings.filter((one) => one.level === level).length;
  const counts = `tests="${findings.length}" failures="${count('fail')}" errors="0" skipped="${count('unknown')}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="opsctl" ${counts}>`,
    `  <testsuite name="${escapeXml(suite)}" ${counts}>`,
    ...findings.map((one) => caseOf(suite, one)),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
};

const levels = ['fail', 'warn', 'unknown', 'pass'] as const;
const placeOf = ({ file, line, subject }: CheckFinding): string =>
  file === undefined ? (subject ?? '') : line === undefined ? file : `${file}:${line}`;
const rowOf = (one: CheckFinding): string => {
  const text = one.hint === undefined ? one.message : `${one.message} (${one.hint})`;
  return `| ${one.level} | ${escapeMarkdown(one.rule)} | ${escapeMarkdown(placeOf(one))} | ${escapeMarkdown(text)} |`;
};
/** A table for a job summary or a comment; what passed is only counted. Pure. */
export const markdownText = (title: string, findings: readonly CheckFinding[]): string => {
  const counts = levels
    .map((level) => [level, findings.filter((one) => one.level === level).length] as const)
    .filter(([, count]) => count > 0)
    .map(([level, count]) => `${count} ${level}`);
  const shown = levels
    .filter((level) => level !== 'pass')
    .flatMap((level) => findings.filter((one) => one.level === level));
  const table = ['', '| level | rule | where | finding |', '|---|---|---|---|', ...shown.map(rowOf)];
  return [
    `### ${escapeMarkdown(title)}: ${counts.join(', ') || 'nothing was checked'}`,
    ...(shown.length > 0 ? table : []),
    '',
  ].join('\n');
};

/** A result that is not a failure has no level (SARIF 2.1.0, 3.27.10). */
const states = {
  fail: { kind: 'fail', level: 'error' },
  warn: { kind: 'fail', level: 'warning' },
  unknown: { kind: 'open', level: 'none' },
  pass: { kind: 'pass', level: 'none' },
} as const;
const uriOf = (file: string): string =>
  encodeURI(file.replaceAll('\\', '/')).replaceAll('#', '%23').replaceAll('?', '%3F');
const locationOf = ({ file, line, column, subject }: CheckFinding) => ({
  ...(file === undefined
    ? {}
    : {
        physicalLocation: {
          artifactLocation: { uri: uriOf(file) },
          region: { startLine: line ?? 1, ...(column === undefined ? {} : { startColumn: column }) },
        },
      }),
  ...(subject === undefined ? {} : { logicalLocations: [{ name: subject, kind: 'resource' }] }),
});
const resultOf = (one: CheckFinding, rules: readonly string[]) => {
  const text = one.hint === undefined ? one.message : `${one.message} (${one.hint})`;
  const location = locationOf(one);
  return {
    ruleId: one.rule,
    ruleIndex: rules.indexOf(one.rule),
    ...states[one.level],
    message: { text },
    ...(Object.keys(location).length === 0 ? {} : { locations: [location] }),
  };
};
/** Results of static analysis, as code scanning reads them. Pure. */
export const sarifText = (version: string, findings: readonly CheckFinding[]): string => {
  const rules = [...new Set(findings.map(({ rule }) => rule))];
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'opsctl',
            version,
            rules: rules.map((id) => ({ id, shortDescription: { text: id.replaceAll(/[-_]/g, ' ') } })),
          },
        },
        columnKind: 'utf16CodeUnits',
        results: findings.map((one) => resultOf(one, rules)),
      },
    ],
  };
  return `${JSON.stringify(log, null, 2)}\n`;
};

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
  return isInside(cwd, one.file) ? { ...one, file: relative(cwd, one.file) } : one;
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
/**
 * Writes annotations in the format of the current CI service; writes none outside CI or if all checks pass.
 */
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
/**
 * Replaces the report files before the check runs: a run that is killed leaves a failure in its report and never the report of an
 * earlier run. A path that cannot be written ends the command before it changes anything. A pipe is written once, at the end.
 */
export const writeUnfinishedReports = async (
  options: OutputOptions,
  host: Host,
  redactor: Redactor,
): Promise<void> => {
  const { reports = [], title = 'opsctl' } = options;
  const places = await Promise.all(
    reports.map(async (one) => ({ one, info: await host.files.info(resolve(host.cwd, one.path)) })),
  );
  const files = places.filter(({ info }) => info === undefined || info.kind === 'file').map(({ one }) => one);
  const message = `opsctl ${title} did not finish: it is still running, or something ended it`;
  const finding = { rule: 'unfinished', level: 'fail' as const, message };
  await writeReportFiles([finding], { ...options, reports: files }, host, redactor);
};
/** Shows findings where the CI service shows them without a flag: annotations, and the summary of the job for a check. */
export const showInCi = async (
  given: readonly CheckFinding[],
  options: OutputOptions,
  host: Host,
  redactor: Redactor,
  hasSummary: boolean,
): Promise<void> => {
  const findings = given.map((one) => fromHere(host, one));
  for (const line of ciLines(host, findings))
    await host.terminal.stderr.write(`${redactor.clean(line)}\n`).catch(() => {});
  if (hasSummary)
    await appendSummary(host, redactor.clean(markdownText(options.title ?? 'opsctl', findings)));
};
/** Writes the files of --report, then what the CI service shows without a flag. Secrets are redacted in all of them. */
export const writeReports = async (
  given: readonly CheckFinding[],
  options: OutputOptions,
  host: Host,
  redactor: Redactor,
): Promise<void> => {
  await writeReportFiles(given, options, host, redactor);
  await showInCi(given, options, host, redactor, true);
};

const isPlaced = ({ file }: Problem): boolean => file !== undefined;
const problemFinding = ({ detail, message }: AppError, one: Problem): CheckFinding => ({
  rule: detail.code ?? one.rule,
  level: 'fail',
  message: one.path === '' ? `${message}: ${one.message}` : `${one.path} ${one.message}`,
  ...(one.hint === undefined ? {} : { hint: adviceText(one.hint) }),
  ...(one.file === undefined ? {} : { file: one.file }),
  ...(one.line === undefined ? {} : { line: one.line }),
  ...(one.column === undefined ? {} : { column: one.column }),
});
/** Returns the problems that belong to a line of a file. */
export const placedFindings = (error: AppError): CheckFinding[] =>
  (error.detail.problems ?? []).filter(isPlaced).map((one) => problemFinding(error, one));
/** Returns one failed finding for each problem of the error, or one for the error itself: a report never shows an error as a success. */
export const errorFindings = (error: AppError): CheckFinding[] => {
  const { problems = [], code, tryThis = [] } = error.detail;
  if (problems.length > 0) return problems.map((one) => problemFinding(error, one));
  const [hint] = tryThis;
  return [
    {
      ...{ rule: code ?? error.category, level: 'fail', message: error.message },
      ...(hint === undefined ? {} : { hint: adviceText(hint) }),
    },
  ];
};
