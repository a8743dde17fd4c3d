import { type OutputFormat, formatRow } from '../core/output-format.ts';
import type { View } from '../core/result.ts';
import type { Host } from '../platform/host.ts';
import { isColored } from './color.ts';
import { csvRows } from './csv.ts';
import type { Formatter } from './formatter.ts';
import { jsonRows, jsonText, ndjsonRows } from './json.ts';
import { nameRows } from './names.ts';
import { type TableOptions, tableRows } from './table.ts';
import { themeFor } from './theme.ts';
import type { OutputOptions } from './types.ts';
import { yamlRows, yamlText } from './yaml.ts';

/** Table on a terminal, JSON in a pipe or file, unless asked for. */
export const formatOf = (options: OutputOptions, host: Host): OutputFormat =>
  options.format ?? (host.terminal.stdout.isTty ? 'table' : 'json');

export const tableOptions = async (
  options: OutputOptions,
  columns: readonly string[] | undefined,
  host: Host,
): Promise<TableOptions> => {
  const { isTty } = host.terminal.stdout;
  const theme = await themeFor(isColored(options.color, host.env, isTty));
  return {
    columns,
    hasHeader: options.header,
    width: isTty ? host.terminal.stdout.columns : undefined,
    theme,
    allFields: options.allFields ?? false,
  };
};

type Renderer = {
  /** The formatter of rows. Only tables look at the view's columns: other formats hold the data whole. */
  rows(view: View, options: OutputOptions, host: Host): Formatter | Promise<Formatter>;
  /** One result as one document. */
  document?(data: unknown): string | Promise<string>;
};
/** What writes each format. */
const renderers: Readonly<Record<OutputFormat, Renderer>> = {
  table: {
    rows: async (view, options, host) =>
      tableRows(await tableOptions(options, options.columns ?? view.columns, host)),
  },
  json: { rows: (_, { columns }) => jsonRows(columns), document: jsonText },
  ndjson: { rows: (_, { columns }) => ndjsonRows(columns) },
  yaml: { rows: (_, { columns }) => yamlRows(columns), document: yamlText },
  csv: { rows: (_, { columns, header, csvSafe }) => csvRows(columns, header, csvSafe) },
  name: { rows: ({ name = 'id' }) => nameRows(name) },
};

export const formatterFor = async (
  format: OutputFormat,
  view: View,
  options: OutputOptions,
  host: Host,
): Promise<Formatter> => renderers[format].rows(view, options, host);

/** How a format writes one result as a document; undefined for formats that are made of rows. */
export const documentWriter = (format: OutputFormat): Renderer['document'] =>
  formatRow(format).isByRow ? undefined : renderers[format].document;
