import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { check } from '../../core/check.ts';
import { int, list, oneOf, str } from '../../core/field.ts';
import type { Flags, ValuesOf } from '../../core/flag.ts';
import { parseDuration } from '../../core/format.ts';
import { headerProblem } from '../../core/operation.ts';
import { invalidArguments, problem, usageError } from '../../core/problem.ts';
import { isRecord } from '../../core/shape.ts';
import { inWordsOfFile } from '../../core/yaml-scalars.ts';
import { nothing, recordResult, rowsResult } from '../../core/result.ts';
import { faultInput, faultProfile } from '../../mock-server/faults.ts';

const feature = oneOf(
  'documents',
  'entity-templates',
  'iterations',
  'group-entitlement',
  'objective-entitlement',
);
export const featuresShow = defineCommand({
  path: ['mock', 'features', 'show'],
  summary: 'Show the features of the tracker workspace',
  run: async (context) => {
    const { withMockServer } = await import('./embedded.ts');
    return recordResult(await withMockServer(context, (send) => send('GET', 'features')));
  },
});
export const featuresSet = defineCommand({
  path: ['mock', 'features', 'set'],
  noDryRun: 'opsctl mock features show',
  summary: 'Enable or disable a feature of the tracker workspace',
  about:
    'documents off: 403 DisabledFeatureError. group-entitlement and objective-entitlement off: 403 UnusableEntitlementError for creating and changing groups and for creating objectives. entity-templates and iterations have the same effect as their enable and disable commands.',
  args: [
    { name: 'feature', field: feature, summary: 'Name of the feature' },
    { name: 'state', field: oneOf('on', 'off'), summary: 'State: on or off' },
  ],
  examples: [
    {
      line: 'opsctl mock features set documents off',
      says: 'Test the responses of a workspace without documents',
    },
  ],
  run: async (context, values) => {
    const { withMockServer } = await import('./embedded.ts');
    const all = await withMockServer(context, (send) =>
      send('PUT', 'features', { [values.feature]: values.state === 'on' }),
    );
    return recordResult(all, { message: `${values.feature} is ${values.state}` });
  },
});

/** What a table of faults shows. */
const faultColumns = [
  'id',
  'method',
  'path',
  'status',
  'delay_ms',
  'percent',
  'skip',
  'cut',
  'content_type',
  'when',
  'count',
  'hits',
];

const { fields } = faultInput;
export const faultFlags = {
  method: { field: fields.method, summary: fields.method.summary, complete: 'method' },
  path: { field: fields.path, summary: fields.path.summary, value: 'pattern' },
  status: { field: fields.status, summary: fields.status.summary },
  body: { effects: [], field: fields.body, allowsEmpty: true, summary: fields.body.summary },
  header: {
    field: list(str(1000)),
    summary: 'Header to add to the response',
    repeat: true,
    value: 'name=value',
  },
  'content-type': { field: fields.content_type, summary: fields.content_type.summary },
  delay: {
    field: str(40, { min: 1 }),
    summary: 'Delay before the response; 100ms..2s is a random time between the two',
    value: 'duration',
  },
  skip: { field: fields.skip, summary: fields.skip.summary },
  percent: { field: fields.percent, summary: fields.percent.summary },
  'bytes-per-second': { field: fields.bytes_per_second, summary: fields.bytes_per_second.summary },
  cut: { field: fields.cut, summary: fields.cut.summary },
  when: { field: fields.when, summary: fields.when.summary },
  count: { field: fields.count, summary: fields.count.summary },
} as const satisfies Flags;

const headersOf = (texts: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf('=');
      if (at < 1)
        throw invalidArguments([
          problem('--header', 'format', `must be name=value; got ${JSON.stringify(text)}`),
        ]);
      const [name, value] = [text.slice(0, at).toLowerCase(), text.slice(at + 1)];
      const wrong = headerProblem('--header', name, value);
      if (wrong !== undefined) throw invalidArguments([wrong]);
      return [name, value];
    }),
  );
/** `2s`, or `100ms..2s` for a random time between the two. */
const delayOf = (text: string): Record<string, number> => {
  const [least = '', most] = text.split('..');
  const delay_ms = Math.round(parseDuration(least, '--delay'));
  if (most === undefined) return { delay_ms };
  const delay_max_ms = Math.round(parseDuration(most, '--delay'));
  if (delay_max_ms < delay_ms)
    throw invalidArguments([problem('--delay', 'format', `must start with the shorter time; got ${text}`)]);
  return { delay_ms, delay_max_ms };
};
/** The fault that these flags describe, in the form of the control interface. */
export const faultFrom = ({
  header,
  delay,
  'content-type': contentType,
  'bytes-per-second': rate,
  ...plain
}: ValuesOf<typeof faultFlags>): Record<string, unknown> => ({
  ...plain,
  ...(header === undefined ? {} : { headers: headersOf(header) }),
  ...(contentType === undefined ? {} : { content_type: contentType }),
  ...(rate === undefined ? {} : { bytes_per_second: rate }),
  ...(delay === undefined ? {} : delayOf(delay)),
});

export const faultsAdd = defineCommand({
  path: ['mock', 'faults', 'add'],
  noDryRun: 'opsctl mock faults list',
  summary: 'Make requests fail on purpose',
  flags: faultFlags,
  examples: [
    {
      line: "opsctl mock faults add --method POST --path '/api/v3/labels' --status 503 --count 2",
      says: 'Let the next two creates fail',
    },
    { line: "opsctl mock faults add --path '/api/v3/**' --delay 2s", says: 'Delay all responses' },
    {
      line: 'opsctl mock faults add --method PUT --cut --when after',
      says: 'Apply the change and drop the response',
    },
    {
      line: "opsctl mock faults add --path '/api/v3/**' --status 503 --percent 5",
      says: 'Let one request in twenty fail',
    },
    {
      line: "opsctl mock faults add --method PUT --path '/api/v3/labels/*' --status 500 --skip 2 --count 1",
      says: 'Let the third update fail and the fourth succeed',
    },
  ],
  check: (values) => {
    const acts = ['status', 'body', 'content-type', 'delay', 'cut', 'header', 'bytes-per-second'] as const;
    const type = values['content-type'];
    const wrongType = type === undefined ? undefined : headerProblem('--content-type', 'content-type', type);
    if (wrongType !== undefined) return [wrongType];
    return acts.some((name) => values[name] !== undefined)
      ? []
      : [problem('', 'required', `specify at least one of ${acts.map((name) => `--${name}`).join(', ')}`)];
  },
  run: async (context, values) => {
    const { withMockServer } = await import('./embedded.ts');
    const fault = await withMockServer(context, (ask) =>
      ask<{ readonly id: string | number }>('POST', 'faults', faultFrom(values)),
    );
    // A table has every column; one fault shows what it does.
    const columns = faultColumns.filter((name) => name in fault);
    return recordResult(fault, { columns, message: `fault ${fault.id} set` });
  },
});

export const faultsClear = defineCommand({
  path: ['mock', 'faults', 'clear'],
  noDryRun: 'opsctl mock faults list',
  summary: 'Clear faults',
  args: [
    {
      name: 'fault',
      field: int({ min: 1 }),
      summary: 'Number of a fault (default: all faults)',
      optional: true,
    },
  ],
  run: async (context, values) => {
    const { withMockServer } = await import('./embedded.ts');
    await withMockServer(context, (ask) =>
      ask('DELETE', values.fault === undefined ? 'faults' : `faults/${values.fault}`),
    );
    return nothing(values.fault === undefined ? 'cleared all faults' : `cleared fault ${values.fault}`);
  },
});

export const faultsList = defineCommand({
  path: ['mock', 'faults', 'list'],
  summary: 'List active faults',
  run: async (context) => {
    const { withMockServer } = await import('./embedded.ts');
    return rowsResult(await withMockServer(context, (ask) => ask('GET', 'faults')), {
      columns: faultColumns,
    });
  },
});

const profileIn = async (context: Context, path: string): Promise<unknown> => {
  const [{ textFile }, { readYaml }] = await Promise.all([
    import('../../api/input.ts'),
    import('../../tracker/workspace/workspace-file.ts'),
  ]);
  const text = await textFile(context, path, '<file>');
  const { value, lineOf, shown } = await readYaml(path, text, { mayHaveNul: true });
  // The text of a file that is not a list may be a secret: the user named the wrong file.
  const problems = Array.isArray(value)
    ? inWordsOfFile(check(faultProfile, value, ''), shown)
    : [problem('', 'type', `must be a list; got ${isRecord(value) ? 'a mapping' : 'another value'}`)];
  if (problems.length > 0)
    throw usageError(
      `${path} is not a list of faults`,
      problems.map((one) => ({ ...one, file: path, line: lineOf(one.path) ?? 1 })),
    );
  return value;
};
export const faultsLoad = defineCommand({
  path: ['mock', 'faults', 'load'],
  noDryRun: 'opsctl mock faults list',
  summary: 'Replace all faults with those in a file',
  about:
    'The file is a list in YAML or JSON. Each entry has the fields that `mock faults list -o json` prints: method, path, status, body, headers, content_type, delay_ms, delay_max_ms, bytes_per_second, cut, when, skip, percent, count. The first matching entry applies to a request.',
  args: [
    {
      name: 'file',
      effects: ['reads'],
      field: str(4096, { min: 1 }),
      summary: 'File with the faults',
      complete: 'file',
    },
  ],
  examples: [{ line: 'opsctl mock faults load faults.yaml', says: 'Use only the faults of a file' }],
  run: async (context, values) => {
    const profile = await profileIn(context, values.file);
    const { withMockServer } = await import('./embedded.ts');
    const faults: unknown[] = await withMockServer(context, (ask) => ask('PUT', 'faults', profile));
    return rowsResult(faults, { columns: faultColumns, message: `set ${faults.length} faults` });
  },
});
