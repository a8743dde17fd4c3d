import type { Host } from '../platform/host.ts';
import type { View } from '../core/result.ts';
import { csvRows } from './csv.ts';
import { isColored } from './color.ts';
import type { Formatter } from './formatter.ts';
import { jsonRows, ndjsonRows } from './json.ts';
import { nameRows } from './names.ts';
import { type TableOptions, tableRows } from './table.ts';
import { themeFor } from './theme.ts';
import type { Format, OutputOptions } from './types.ts';
import { yamlRows } from './yaml.ts';

/** Table on a terminal, JSON in a pipe or file, unless asked for. */
export const formatOf = (options: OutputOptions, host: Host): Format =>
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

/** The formatter of one format for rows. Only tables look at the view's columns: other formats hold the data whole. */
export const formatterFor = async (
  format: Format,
  view: View,
  options: OutputOptions,
  host: Host,
): Promise<Formatter> => {
  switch (format) {
    case 'json':
      return jsonRows(options.columns);
    case 'ndjson':
      return ndjsonRows(options.columns);
    case 'yaml':
      return yamlRows(options.columns);
    case 'csv':
      return csvRows(options.columns, options.header);
    case 'name':
      return nameRows(view.name ?? 'id');
    case 'table':
      return tableRows(await tableOptions(options, options.columns ?? view.columns, host));
  }
};
