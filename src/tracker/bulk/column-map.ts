import { shellWord } from '../../core/shell.ts';
import type { EngineContext } from '../../api/context.ts';
import { textFile } from '../../api/input.ts';
import { formats, momentOf } from '../../core/format.ts';
import { AppError, type Problem, problem, usageError } from '../../core/problem.ts';
import { nearest } from '../../core/text.ts';
import { emptyKeys, misreadText, shownTexts } from '../../core/yaml-scalars.ts';
import { trackerNames } from '../names/name-resolution.ts';
import { fieldReferences } from '../../api-specs/tracker/info.ts';
import { namesOfState, readWorkflows } from '../stories.ts';
import { readYaml } from '../workspace/workspace-file.ts';
import type { Change } from './change.ts';
import {
  type DateOrder,
  type FieldRule,
  foreignColumns,
  headerOnlyColumns,
  type PresetName,
  type PresetRule,
  presets,
  readMoment,
  stateTypes,
} from './presets.ts';

type Row = Readonly<Record<string, unknown>>;
export type MapOptions = {
  readonly map?: readonly string[] | undefined;
  readonly 'map-file'?: string | undefined;
  readonly from?: PresetName | undefined;
  readonly op?: string | undefined;
  readonly 'ignore-unknown'?: boolean | undefined;
};
/** Where a person named a column: the flag, or a line of the map file. */
type Place = Pick<Problem, 'path' | 'file' | 'line'>;
type MapFile = {
  readonly columns: ReadonlyMap<string, FieldRule | null>;
  readonly placeOf: (column: string) => Place;
  readonly users: ReadonlyMap<string, unknown>;
  readonly states: ReadonlyMap<string, unknown>;
  readonly dateOrder: DateOrder | undefined;
};
const fold = (text: string): string => text.trim().toLowerCase();
const foldKeys = (values: Readonly<Record<string, unknown>> = {}): Map<string, unknown> =>
  new Map(Object.entries(values).map(([key, value]) => [fold(key), value]));
/** Keys with different values that differ only in case or in spaces around them: rows match both. */
const sameKeys = (table: string, values: Readonly<Record<string, unknown>>): Problem[] => {
  const seen = new Map<string, string>();
  return Object.keys(values).flatMap((key) => {
    const first = seen.get(fold(key));
    seen.set(fold(key), first ?? key);
    if (first === undefined || values[first] === values[key]) return [];
    const text = `means the same as ${JSON.stringify(first)}: case and outer spaces do not count`;
    return [problem(`${table}.${key}`, 'rule', text, 'keep one of the two')];
  });
};

/** `Summary=name,Issue key=external_id`; a column without a field is ignored. */
const parseFlag = (texts: readonly string[]): [string, FieldRule | null][] => {
  const pairs = parsePairs(texts);
  const seen = new Map<string, string | undefined>();
  for (const [column, rule] of pairs) {
    const other = seen.get(fold(column));
    if (seen.has(fold(column)) && other !== rule?.field)
      throw usageError('--map is invalid', [
        problem('--map', 'rule', `names the column ${JSON.stringify(column)} twice`, 'keep one of the pairs'),
      ]);
    seen.set(fold(column), rule?.field);
  }
  return pairs;
};
const parsePairs = (texts: readonly string[]): [string, FieldRule | null][] =>
  texts
    .flatMap((text) => text.split(','))
    .filter((pair) => pair.trim() !== '')
    .map((pair) => {
      const at = pair.lastIndexOf('=');
      const [column, field] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
      if (at <= 0 || column === '')
        throw usageError('--map is invalid', [
          problem(
            '--map',
            'format',
            `must be COLUMN=FIELD pairs; got ${JSON.stringify(pair)}`,
            'for example --map "Summary=name,Issue key=external_id"',
          ),
        ]);
      return [column, field === '' ? null : { field }];
    });
const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const fileKeys = ['columns', 'users', 'states', 'date_order'];
const ruleKeys = ['field', 'values', 'optional'];
/** A key that opsctl does not know, or another word than true and false, would have no effect. */
const optionProblems = (column: string, given: Row): Problem[] => [
  ...Object.keys(given)
    .filter((key) => !ruleKeys.includes(key))
    .map((key) => {
      const close = nearest(key, ruleKeys);
      const what = `is not a known key (${ruleKeys.join(', ')})`;
      return problem(`columns.${column}.${key}`, 'unknown', what, close && `did you mean ${close}?`);
    }),
  ...(given.optional === undefined || typeof given.optional === 'boolean'
    ? []
    : [problem(`columns.${column}.optional`, 'type', 'must be true or false')]),
];
/** Users and states have one name or ID each; null leaves them out. */
const targetProblems = (table: string, values: Row): Problem[] =>
  Object.entries(values).flatMap(([key, value]) =>
    value === null || typeof value === 'string' || Number.isSafeInteger(value)
      ? []
      : [problem(`${table}.${key}`, 'type', 'must be a name, an ID or null')],
  );
const ruleFrom = (column: string, given: unknown, problems: Problem[]): FieldRule | null => {
  if (given === null || given === false) return null;
  if (typeof given === 'string') return { field: given };
  if (
    isPlain(given) &&
    typeof given.field === 'string' &&
    (given.values === undefined || isPlain(given.values))
  ) {
    for (const found of optionProblems(column, given)) problems.push(found);
    return {
      field: given.field,
      ...(given.values === undefined ? {} : { values: given.values as Record<string, unknown> }),
      ...(given.optional === true ? { isOptional: true } : {}),
    };
  }
  problems.push(problem(`columns.${column}`, 'type', 'must be a field, null, or {field, values, optional}'));
  return null;
};
/** The rules of every file that opsctl reads, and the keys of a map file. */
const mapFileProblems = (
  value: Row,
  { contents, unclear }: Pick<Awaited<ReturnType<typeof readYaml>>, 'contents' | 'unclear'>,
): Problem[] => {
  const empty = emptyKeys(contents);
  const isTable = (key: string): boolean => isPlain(value[key]) || empty.includes(key);
  const tables = ['columns', 'users', 'states'].filter((key) => value[key] !== undefined && !isTable(key));
  const order = value.date_order;
  const isOrder = order === undefined || order === 'day-first' || order === 'month-first';
  return [
    ...Object.keys(value)
      .filter((key) => !fileKeys.includes(key))
      .map((key) => problem(key, 'unknown', `is not a known key (${fileKeys.join(', ')})`)),
    ...unclear,
    ...[...shownTexts(contents)].flatMap(([at, source]) =>
      /^(~|null)$/i.test(source) ? [] : [misreadText(at, source)],
    ),
    ...tables.map((key) => problem(key, 'type', 'must be a table of values')),
    ...['columns', 'users', 'states'].flatMap((key) =>
      isPlain(value[key]) ? sameKeys(key, value[key]) : [],
    ),
    ...['users', 'states'].flatMap((key) => (isPlain(value[key]) ? targetProblems(key, value[key]) : [])),
    ...(isOrder ? [] : [problem('date_order', 'enum', 'must be day-first or month-first')]),
  ];
};
const readMapFile = async (context: EngineContext, path: string): Promise<MapFile> => {
  const read = await readYaml(path, await textFile(context, path, '--map-file'));
  const { value, lineOf } = read;
  if (!isPlain(value))
    throw usageError(`${path} is not a map file`, [
      problem('--map-file', 'type', `must name a YAML or JSON file with the keys ${fileKeys.join(', ')}`),
    ]);
  const problems = mapFileProblems(value, read);
  const columns = Object.entries(isPlain(value.columns) ? value.columns : {}).map(
    ([column, given]): [string, FieldRule | null] => [column, ruleFrom(column, given, problems)],
  );
  if (problems.length > 0)
    throw usageError(
      `${path} is not a map file`,
      problems.map((one) => {
        const line = lineOf(one.path);
        return { ...one, file: path, ...(line === undefined ? {} : { line }) };
      }),
    );
  return {
    columns: new Map(columns),
    placeOf: (column) => {
      const line = lineOf(['columns', column]);
      return { path: `columns.${column}`, file: path, ...(line === undefined ? {} : { line }) };
    },
    users: foldKeys(isPlain(value.users) ? value.users : {}),
    states: foldKeys(isPlain(value.states) ? value.states : {}),
    dateOrder: value.date_order as DateOrder | undefined,
  };
};

/** An offset or a zone behind a time of day. The year of `14-Jul-2025 3:42 PM` is not an offset. */
const ZONE = /:\d\d(?:[.,]\d+)?\s*(?:[ap]m\s*)?(?:z|utc|gmt|[+-]\d\d(?::?\d\d)?)\b/i;
/** A text with a time of day and without its offset. Midnight is how tools write a day. */
const isZoneless = (text: string): boolean =>
  /\d:\d\d/.test(text) &&
  !ZONE.test(text) &&
  !/(?<!\d)(?:0?0:00(?::00(?:\.0+)?)?|12:00(?::00)?\s*am)$/i.test(text.trim());

/** Columns and values that a run left out or replaced, for the report. */
class Deviations {
  readonly #columns = new Map<string, number>();
  readonly #values = new Map<string, Map<string, number>>();
  readonly #chosen = new Map<string, Map<string, string>>();
  readonly #zoneless = new Map<string, number>();
  /** A time without a zone, which the run read as UTC. */
  assumeUtc(field: string): void {
    this.#zoneless.set(field, (this.#zoneless.get(field) ?? 0) + 1);
  }
  ignore(column: string): void {
    this.#columns.set(column, (this.#columns.get(column) ?? 0) + 1);
  }
  /** A value of the file for which the run chose a value of the workspace. */
  choose(field: string, value: string, chosen: string): void {
    const values = this.#chosen.get(field) ?? new Map<string, string>();
    values.set(value, chosen);
    this.#chosen.set(field, values);
  }
  omit(field: string, value: string): void {
    const values = this.#values.get(field) ?? new Map<string, number>();
    values.set(value, (values.get(value) ?? 0) + 1);
    this.#values.set(field, values);
  }
  lines(): string[] {
    const rowsText = (count: number): string => (count === 1 ? '1 row' : `${count} rows`);
    const columns = [...this.#columns].map(
      ([column, count]) =>
        `column ${JSON.stringify(column)} was not imported (${rowsText(count)}); map it with --map '${column}=FIELD'`,
    );
    const values = [...this.#values].map(([field, found]) => {
      const most = [...found].sort((a, b) => b[1] - a[1]).slice(0, 10);
      const text = most.map(([value, count]) => `${JSON.stringify(value)} (${rowsText(count)})`).join(', ');
      const more = found.size > most.length ? ` and ${found.size - most.length} more` : '';
      return `${field} was left unset for unknown values: ${text}${more}; map them in --map-file`;
    });
    const chosen = [...this.#chosen].map(([field, found]) => {
      const text = [...found]
        .sort()
        .map(([value, state]) => `${JSON.stringify(value)} as ${state}`)
        .join(', ');
      return `${field} has the first state of the same type for other words: ${text}; choose other states in the table states of --map-file`;
    });
    const times = [...this.#zoneless].map(
      ([field, count]) => `${field} has times without a time zone, read as UTC (${rowsText(count)})`,
    );
    return [...columns, ...values, ...chosen, ...times];
  }
}

export type ColumnMap = {
  /** See `ReadOptions`. Undefined if a map reads the column. */
  readonly headerOnlyColumn?: string | undefined;
  /** The field that a column is read into; null if the column is ignored. */
  readonly fieldOf: (column: string) => string | null | undefined;
  /** Problems of a header, each reported once. */
  readonly headerProblems: (
    columns: readonly string[],
    isKnown: (field: string) => boolean,
    fields: readonly string[],
  ) => Problem[];
  /** True if the column is not mapped and is to be left out. */
  readonly ignores: (column: string) => boolean;
  /** Columns of one field that have values in the same row. */
  readonly clashes: (row: Row) => Problem[];
  readonly apply: (row: Row) => Row;
  /** False if `fit` returns every change unchanged. */
  readonly mayFit: boolean;
  /** Replaces users and states of the other tool by those of the workspace. */
  readonly fit: (context: EngineContext, change: Change) => Promise<Change>;
  readonly report: () => string[];
};
const flagPlace: Place = { path: '--map' };
const noFile: MapFile = {
  ...{ columns: new Map(), users: new Map(), states: new Map(), dateOrder: undefined },
  placeOf: () => flagPlace,
};
const moments = new Set([
  'deadline',
  'created_at',
  'updated_at',
  'completed_at_override',
  'started_at_override',
  'planned_start_date',
]);

/** The value that the table of a rule has for a cell. */
const mappedValue = (rule: FieldRule | null | undefined, cell: string): unknown => {
  if (rule?.values === undefined) return undefined;
  const table = foldKeys(rule.values);
  return table.has(fold(cell)) ? table.get(fold(cell)) : table.get('*');
};
/**
 * A value of a map file as the text of a cell. A number reads like the file, the items of a list are not split again,
 * and null leaves the field unset.
 */
const cellOf = (found: unknown): unknown => {
  if (Array.isArray(found)) return JSON.stringify(found);
  return typeof found === 'number' ? String(found) : (found ?? undefined);
};
const suggest = (name: string, fields: readonly string[]): string | undefined => {
  const close = nearest(name, fields);
  return close && `did you mean ${close}?`;
};
/** A comma separates the pairs of --map. */
const mapHint = (column: string, field: string | undefined): string => {
  // The key of a record in this service. An export of another tool has its own IDs.
  if (field === 'id' && fold(column) === 'id')
    return `read the ID of another tool with --map ${shellWord(`${column}=external_id`)}, or an ID of this service with --map ${shellWord(`${column}=id`)}`;
  const question = field === undefined ? '' : `did you mean ${field}? `;
  const where = column.includes(',')
    ? 'in a file for --map-file'
    : `with --map ${shellWord(`${column}=${field ?? 'FIELD'}`)}`;
  return `${question}map the column ${where}, or ignore it with --ignore-unknown`;
};
/** A title above the table, and a table with another delimiter, look like a header with one column. */
const unknownHint = (columns: readonly string[], column: string, fields: readonly string[]): string =>
  columns.length === 1
    ? `remove the lines before the header, separate the columns by commas, semicolons or tabs, or ${mapHint(column, nearest(column, fields))}`
    : mapHint(column, nearest(column, fields));
/** A state and its workflow, as two cells of a row name them. */
type StatePlace = { readonly workflow: string; readonly state: string };
/** An export of another tool has its own IDs and its own words for actions. */
const foreignKeys = ['id', 'action'];
class Columns implements ColumnMap {
  readonly #own: ReadonlyMap<string, FieldRule | null>;
  /** The columns of `#own` as a person wrote them, with their places. */
  readonly #named: ReadonlyMap<string, { readonly column: string; readonly place: Place }>;
  readonly #preset: readonly PresetRule[];
  readonly headerOnlyColumn: string | undefined;
  readonly #foreign: readonly string[];
  readonly #file: MapFile;
  readonly #ignores: boolean;
  readonly #op: string;
  readonly #deviations = new Deviations();
  /** The states whose rows name their workflow, by WORKFLOW/STATE. */
  readonly #places = new Map<string, StatePlace>();
  #header: readonly string[] | undefined;
  #workflows: ReturnType<typeof readWorkflows> | undefined;

  constructor(options: MapOptions, file: MapFile) {
    const ofFlag = parseFlag(options.map ?? []);
    this.#own = new Map([...file.columns, ...ofFlag].map(([column, rule]) => [fold(column), rule]));
    this.#named = new Map([
      ...[...file.columns.keys()].map(
        (column) => [fold(column), { column, place: file.placeOf(column) }] as const,
      ),
      ...ofFlag.map(([column]) => [fold(column), { column, place: flagPlace }] as const),
    ]);
    this.#preset = options.from === undefined ? [] : presets[options.from];
    const last = options.from && headerOnlyColumns[options.from];
    this.headerOnlyColumn = last !== undefined && this.#own.has(fold(last)) ? undefined : last;
    this.#foreign = [...foreignKeys, ...((options.from && foreignColumns[options.from]) ?? [])];
    this.#file = file;
    this.#op = options.op ?? 'upsert';
    this.#ignores = options['ignore-unknown'] === true || options.from !== undefined;
  }
  #ruleOf(column: string): FieldRule | null | undefined {
    // Spreadsheets write empty cells behind the header. Such a cell is not a column name.
    if (column.trim() === '') return undefined;
    const own = this.#own.get(fold(column));
    if (own !== undefined) return own && this.#withForm(column, own);
    const has = (name: string): boolean => this.#header === undefined || this.#header.includes(fold(name));
    return this.#preset.find(
      ({ columns, field, isOneValue }) =>
        (isOneValue === true
          ? columns.some((name) => fold(name) === fold(column))
          : fold(columns.find(has) ?? '') === fold(column)) &&
        ![...this.#own.values()].some((rule) => rule?.field === field),
    );
  }
  /** A user maps some values of a column that the ready map has; the tool wrote the other values in its own form. */
  #withForm(column: string, own: FieldRule): FieldRule {
    const ready = this.#preset.find(
      ({ field, columns }) => field === own.field && columns.some((name) => fold(name) === fold(column)),
    );
    const { read, meanings, within } = ready ?? {};
    return { ...own, ...(read && { read }), ...(meanings && { meanings }), ...(within && { within }) };
  }
  fieldOf = (column: string): string | null | undefined => {
    const rule = this.#ruleOf(column);
    return rule === null ? null : rule?.field;
  };
  #isKnown: (field: string) => boolean = () => true;
  ignores = (column: string): boolean =>
    this.#ignores && this.#ruleOf(column) === undefined && !this.#isKnown(column);
  headerProblems: ColumnMap['headerProblems'] = (columns, isKnown, fields) => {
    this.#header = columns.map(fold);
    this.#isKnown =
      this.#preset.length === 0 ? isKnown : (column) => isKnown(column) && !this.#foreign.includes(column);
    const lacking = this.#lackingColumns(columns);
    if (lacking.length > 0) return lacking;
    const missing = [...this.#named].filter(([folded]) => !this.#header?.includes(folded));
    const unmapped = columns.filter(
      (column) => column !== '' && this.#ruleOf(column) === undefined && !isKnown(column),
    );
    return [
      ...missing.map(([, { column, place }]) => {
        const what = `names the column ${JSON.stringify(column)}, which the table does not have`;
        return { ...problem(place.path, 'unknown', what, suggest(column, columns)), ...place };
      }),
      ...this.#badTargets(columns, isKnown).map(([field, place]) => {
        const what = `names the field ${JSON.stringify(field)}, which is not known`;
        return { ...problem(place.path, 'unknown', what, suggest(field, fields)), ...place };
      }),
      ...(this.#ignores
        ? []
        : [...new Set(unmapped)].map((column) => {
            const what = `is ${columns.length === 1 ? 'the only column, and it is ' : ''}not a known field`;
            return problem(column, 'unknown', what, unknownHint(columns, column, fields));
          })),
    ];
  };
  /** Unknown fields, each with the first place that names it. */
  #badTargets(columns: readonly string[], isKnown: (field: string) => boolean): [string, Place][] {
    const found = new Map<string, Place>();
    for (const column of columns) {
      const field = this.fieldOf(column);
      if (field === undefined || field === null || isKnown(field) || found.has(field)) continue;
      found.set(field, this.#named.get(fold(column))?.place ?? flagPlace);
    }
    return [...found];
  }
  /**
   * Fields that a row needs to have any effect and that no column has: an export in another language, or of another
   * tool. An upsert may find its record by the key and change it without its name. A row may state its own action.
   */
  #lackingColumns(columns: readonly string[]): Problem[] {
    const found = new Set(
      columns.flatMap((column) => {
        const field = this.fieldOf(column);
        return field === null ? [] : (field ?? column);
      }),
    );
    const isComplete =
      found.has('op') ||
      (this.#op === 'create' && found.has('name')) ||
      (this.#op === 'upsert' && (found.has('external_id') || found.has('id'))) ||
      !['create', 'upsert'].includes(this.#op);
    if (isComplete) return [];
    const needed = this.#op === 'create' ? ['name'] : ['name', 'external_id'];
    return this.#preset
      .filter(({ field }) => needed.includes(field) && !found.has(field))
      .map(({ field, columns: names }) =>
        problem(
          '--from',
          'required',
          `reads ${field} from the column ${names.map((name) => JSON.stringify(name)).join(' or ')}, which the header does not have`,
          `read another column with --map 'COLUMN=${field}', for example of an export in another language`,
        ),
      );
  }
  /** Without a map only the texts of moments change. */
  #isRead(row: Row): boolean {
    if (this.#own.size + this.#preset.length > 0 || this.#ignores) return false;
    for (const column in row) if (moments.has(column) || column === '__proto__') return false;
    return true;
  }
  clashes = (row: Row): Problem[] => {
    if (this.#own.size + this.#preset.length === 0) return [];
    const unclear = this.#preset.some(({ meanings }) => meanings !== undefined)
      ? this.#unclearCells(row)
      : [];
    return [...this.#clashes(row), ...unclear];
  };
  /** Cells that mean two lists, unless a table of values decides. */
  #unclearCells(row: Row): Problem[] {
    return Object.entries(row).flatMap(([column, value]) => {
      const rule = this.#ruleOf(column);
      const cells = (Array.isArray(value) ? value : [value]).filter((cell) => typeof cell === 'string');
      return cells.flatMap((cell) => {
        const meanings = mappedValue(rule, cell) === undefined ? rule?.meanings?.(cell) : undefined;
        if (meanings === undefined) return [];
        const [one, other] = meanings.map((names) => JSON.stringify(names));
        const what = `has a comma that may belong to a name; got ${JSON.stringify(cell)}: ${one} or ${other}`;
        const fix = `write all labels of the cell as a list such as ${one}, or map the cell in the values of a file for --map-file`;
        return [problem(column, 'rule', what, fix)];
      });
    });
  }
  #clashes(row: Row): Problem[] {
    const columnOf = new Map<string, string>();
    const problems: Problem[] = [];
    for (const [column, value] of Object.entries(row)) {
      const given = this.fieldOf(column);
      if (given === null || (given === undefined && this.ignores(column))) continue;
      const field = given ?? column;
      const other = columnOf.get(field);
      columnOf.set(field, column);
      if (other === undefined || value === row[other]) continue;
      if (Array.isArray(value) && Array.isArray(row[other])) continue;
      const what = `and ${JSON.stringify(other)} both have a value for ${field}`;
      // A comma separates the pairs of --map.
      const leaveOut = other.includes(',') ? '' : `, or leave one out with --map ${shellWord(`${other}=`)}`;
      const fix = `empty one of them${leaveOut}; columns of a list field with the same name are joined`;
      problems.push(problem(column, 'rule', what, fix));
    }
    return problems;
  }
  apply = (row: Row): Row => (this.#isRead(row) ? row : this.#readRow(row));
  #readRow(row: Row): Row {
    const out: Record<string, unknown> = {};
    for (const [column, value] of Object.entries(row)) {
      const rule = this.#ruleOf(column);
      if (rule === null || (rule === undefined && this.ignores(column))) {
        if (rule === undefined) this.#noteIgnored(column);
        continue;
      }
      const field = rule?.field ?? column;
      const read = this.#place(row, rule, this.#read(rule ?? { field }, value));
      if (read === undefined) continue;
      out[field] =
        Array.isArray(out[field]) && Array.isArray(read) ? [...(out[field] as unknown[]), ...read] : read;
    }
    return out;
  }
  /** A column with the workflow of a state has no field, but opsctl reads it. */
  #noteIgnored(column: string): void {
    if (!this.#preset.some(({ within }) => within === fold(column))) this.#deviations.ignore(column);
  }
  /** WORKFLOW/STATE for the cell of a state, if the row names the workflow and no map leaves that column out. */
  #place(row: Row, rule: FieldRule | undefined, state: unknown): unknown {
    if (rule?.within === undefined || typeof state !== 'string') return state;
    const [, workflow] =
      Object.entries(row).find(([column]) => fold(column) === rule.within && this.#ruleOf(column) !== null) ??
      [];
    if (typeof workflow !== 'string' || workflow.trim() === '') return state;
    const text = `${workflow}/${state}`;
    this.#places.set(text, { workflow, state });
    return text;
  }
  /** Only a table has cells, which are read as text again: a value of an NDJSON row stays as the map file states it. */
  #valueOf(found: unknown): unknown {
    return this.#header === undefined ? (found ?? undefined) : cellOf(found);
  }
  #read(rule: FieldRule, value: unknown): unknown {
    if (Array.isArray(value))
      return value.map((one) => this.#read(rule, one)).filter((one) => one !== undefined);
    if (typeof value !== 'string') return value;
    const found = mappedValue(rule, value);
    if (found !== undefined) return this.#valueOf(found);
    if (moments.has(rule.field)) return this.#readMoment(rule, value);
    if (rule.read !== undefined) return rule.read(value, (text) => this.#file.users.has(fold(text)));
    if (rule.values === undefined) return value;
    if (rule.isOptional !== true) return value;
    this.#deviations.omit(rule.field, value);
    return undefined;
  }
  #readMoment({ field, isUtc }: FieldRule, value: string): string {
    const read = readMoment(value, this.#file.dateOrder);
    if (isUtc !== true && isZoneless(value) && formats.datetime?.holds(momentOf(read)) === true)
      this.#deviations.assumeUtc(field);
    return read;
  }
  get mayFit(): boolean {
    const { users, states } = this.#file;
    const hasOptional = [...this.#own.values()].some((rule) => rule?.isOptional === true);
    return hasOptional || this.#preset.length + users.size + states.size > 0;
  }
  fit = async (context: EngineContext, change: Change): Promise<Change> => {
    if (!this.mayFit) return change;
    const body: Record<string, unknown> = {};
    for (const [field, value] of Object.entries(change.input.body ?? {})) {
      const found = await this.#fitField(context, field, value);
      if (found !== undefined) body[field] = found;
    }
    return { ...change, input: { ...change.input, body } };
  };
  /** The value of a field with users and states of the workspace; undefined if none of them is known. */
  async #fitField(context: EngineContext, field: string, value: unknown): Promise<unknown> {
    const kind = fieldReferences[field]?.kind;
    if (kind !== 'member' && kind !== 'workflow-state') return value;
    const find = (one: unknown): unknown =>
      typeof one === 'string' ? this.#find(context, field, kind, one) : one;
    if (!Array.isArray(value)) return find(value);
    const found = (await Promise.all(value.map(find))).filter((one) => one !== undefined);
    return found.length === 0 && value.length > 0 ? undefined : found;
  }
  /** What the map file has for the first of the texts in its table of users or states. */
  #mappedTo(kind: 'member' | 'workflow-state', texts: readonly string[]): unknown {
    const table = kind === 'member' ? this.#file.users : this.#file.states;
    return table.get(texts.map(fold).find((key) => table.has(key)) ?? '*');
  }
  async #find(
    context: EngineContext,
    field: string,
    kind: 'member' | 'workflow-state',
    given: string,
  ): Promise<unknown> {
    const place = kind === 'workflow-state' ? this.#places.get(given) : undefined;
    const text = place?.state ?? given;
    const mapped = this.#mappedTo(kind, [given, text]);
    if (mapped === null) return undefined;
    const name = mapped === undefined ? text : String(mapped);
    const placed = place && (await this.#stateWithin(context, { ...place, state: name }));
    if (placed !== undefined) return placed;
    try {
      return await trackerNames.resolve(context, kind, name, field);
    } catch (error) {
      if (!(error instanceof AppError) || error.detail.code !== 'NO_SUCH_NAME') throw error;
      const isState = kind === 'workflow-state' && mapped === undefined;
      const state = isState ? await this.#stateOfType(context, field, text, place?.workflow) : undefined;
      return state ?? this.#leaveUnset(field, text, error);
    }
  }
  /** Notes a value that a map may leave out. Throws for any other field. */
  #leaveUnset(field: string, text: string, error: AppError): undefined {
    const rules = [...this.#own.values(), ...this.#preset];
    if (!rules.some((rule) => rule?.field === field && rule.isOptional === true)) throw error;
    this.#deviations.omit(field, text);
  }
  /** The ID of the state that WORKFLOW/STATE means; undefined if no workflow or several workflows have it. */
  async #stateWithin(context: EngineContext, { workflow, state }: StatePlace): Promise<unknown> {
    this.#workflows ??= readWorkflows(context);
    const found = (await this.#workflows)
      .filter(({ name }) => fold(String(name)) === fold(workflow))
      .flatMap(({ states }) => states.filter(({ name }) => fold(String(name)) === fold(state)));
    return found.length === 1 ? found[0]?.id : undefined;
  }
  /** The first state of the type that the word of the other tool means. Of two workflows, none is chosen. */
  async #stateOfType(
    context: EngineContext,
    field: string,
    text: string,
    within: string | undefined,
  ): Promise<unknown> {
    const type = this.#preset.length === 0 ? undefined : stateTypes[fold(text)];
    if (type === undefined) return undefined;
    this.#workflows ??= readWorkflows(context);
    const workflows = await this.#workflows;
    const own = workflows.filter(({ name }) => within !== undefined && fold(String(name)) === fold(within));
    const fitting = (own.length > 0 ? own : workflows).flatMap(({ name: workflow, states }) =>
      states
        .filter((state) => state.type === type)
        .slice(0, 1)
        .map(({ id, name }) => ({ id, name, names: namesOfState(workflow, name) })),
    );
    const [first] = fitting;
    if (first === undefined) return undefined;
    if (fitting.length === 1) {
      this.#deviations.choose(field, text.trim(), `${JSON.stringify(first.name)} (${type}, ID ${first.id})`);
      return first.id;
    }
    const names = fitting.map(({ id, names: all }) => `${all.at(-1)} (ID ${id})`).join(', ');
    const cause = `means the type ${type}, which states of ${fitting.length} workflows have: ${names}`;
    throw usageError(`${JSON.stringify(text)} fits several workflows`, [
      problem(field, 'rule', cause, 'name the state in the table states of a map file'),
    ]);
  }
  report = (): string[] => this.#deviations.lines();
}
/** The map of a run; undefined if no flag asks for one. */
export const readColumnMap = async (context: EngineContext, options: MapOptions): Promise<ColumnMap> =>
  new Columns(
    options,
    options['map-file'] === undefined ? noFile : await readMapFile(context, options['map-file']),
  );
