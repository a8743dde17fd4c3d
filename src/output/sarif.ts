import type { CheckFinding } from '../core/finding.ts';

/** A result that is no failure has no level (SARIF 2.1.0, 3.27.10). */
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
