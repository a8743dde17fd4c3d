type FormatRow = {
  readonly summary: string;
  /** Drawn for people: the columns and the text of the view, colours, signs. */
  readonly isForPeople?: true;
  /** JSON for programs: errors are JSON too, no spinner turns, and --jq works on it. */
  readonly isJson?: true;
  /** A list is written row by row, and long lists stream; without it a result is one document. */
  readonly isByRow?: true;
  /** Keeps what is nested. */
  readonly isNested?: true;
  /** Prints one field of a row, so that --columns has no effect on it. */
  readonly isOneField?: true;
};

/** Every output format. The flag, its help, completion and all decisions about formats are read from here. */
export const outputFormats = {
  table: { summary: 'aligned columns', isForPeople: true, isByRow: true },
  json: { summary: 'one JSON document', isJson: true, isNested: true },
  ndjson: { summary: 'one JSON value a line', isJson: true, isByRow: true, isNested: true },
  yaml: { summary: 'one YAML document', isNested: true },
  csv: { summary: 'comma-separated values', isByRow: true },
  name: { summary: 'one name or id a line', isByRow: true, isOneField: true },
} as const satisfies Readonly<Record<string, FormatRow>>;

export type OutputFormat = keyof typeof outputFormats;
export const formatNames = Object.keys(outputFormats) as OutputFormat[];
export const formatRow = (format: OutputFormat): FormatRow => outputFormats[format];

/** Each row or event is a JSON line of its own as soon as it is known. */
export const isJsonStream = (format: OutputFormat): boolean => {
  const { isJson, isByRow } = formatRow(format);
  return isJson === true && isByRow === true;
};
