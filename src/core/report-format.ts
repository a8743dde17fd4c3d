/** Files that CI services read; `--report junit=FILE,sarif=FILE`. */
const reportFormats = {
  junit: { summary: 'JUnit XML: test results' },
  sarif: { summary: 'SARIF 2.1.0: code scanning' },
  codequality: { summary: 'Code Quality JSON: findings in a merge request' },
  markdown: { summary: 'a table for a comment' },
} as const satisfies Readonly<Record<string, { readonly summary: string }>>;

export type ReportFormat = keyof typeof reportFormats;
export const reportFormatNames = Object.keys(reportFormats) as ReportFormat[];
