import { resolve } from 'node:path';
import { int, list, str } from '../../core/field.ts';
import { parseDuration } from '../../core/duration.ts';
import { invalidArguments, problem } from '../../core/problem.ts';
import { nothing, recordResult, rowsResult } from '../../core/result.ts';
import { faultInput } from '../../mock-server/faults.ts';
import { defineCommand, type Context, type Flags, type ValuesOf } from '../../cli/command.ts';

const columns = [
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

const flags = {
  method: { field: fields.method, summary: fields.method.summary, complete: 'method' },
  path: { field: fields.path, summary: fields.path.summary, value: 'pattern' },
  status: { field: fields.status, summary: fields.status.summary },
  body: { field: fields.body, summary: fields.body.summary },
  header: { field: list(str(1000)), summary: 'a header of the answer', repeat: true, value: 'name=value' },
  'content-type': { field: fields.content_type, summary: fields.content_type.summary },
  delay: {
    field: str(40, { min: 1 }),
    summary: 'wait this long first; 100ms..2s is a random time between the two',
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
      return [text.slice(0, at).toLowerCase(), text.slice(at + 1)];
    }),
  );

/** `2s`, or `100ms..2s` for a random time between the two. */
const delayOf = (text: string): Record<string, number> => {
  const [least = '', most] = text.split('..');
  const delay_ms = Math.round(parseDuration(least, '--delay'));
  if (most === undefined) return { delay_ms };
  const delay_max_ms = Math.round(parseDuration(most, '--delay'));
  if (delay_max_ms < delay_ms)
    throw invalidArguments([
      problem('--delay', 'format', `must go from the shorter to the longer time; got ${text}`),
    ]);
  return { delay_ms, delay_max_ms };
};

const inputOf = ({
  header,
  delay,
  'content-type': contentType,
  'bytes-per-second': rate,
  ...plain
}: ValuesOf<typeof flags>): Record<string, unknown> => ({
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
  flags,
  examples: [
    {
      line: "opsctl mock faults add --method POST --path '/api/v3/labels' --status 503 --count 2",
      says: 'The next two creates fail',
    },
    { line: "opsctl mock faults add --path '/api/v3/**' --delay 2s", says: 'Everything is slow' },
    {
      line: 'opsctl mock faults add --method PUT --cut --when after',
      says: 'The change is made and the answer is lost',
    },
    {
      line: "opsctl mock faults add --path '/api/v3/**' --status 503 --percent 5",
      says: 'One request in twenty fails',
    },
    {
      line: "opsctl mock faults add --method PUT --path '/api/v3/labels/*' --status 500 --skip 2 --count 1",
      says: 'The third update fails, the fourth works',
    },
  ],
  check: (values) => {
    const acts = ['status', 'body', 'content-type', 'delay', 'cut', 'header', 'bytes-per-second'] as const;
    return acts.some((name) => values[name] !== undefined)
      ? []
      : [problem('', 'required', `give at least one of ${acts.map((name) => `--${name}`).join(', ')}`)];
  },
  run: async (context, values) => {
    const { steer } = await import('./remote.ts');
    const fault = await steer(context, (ask) => ask('POST', 'faults', inputOf(values)));
    return recordResult(fault, { columns, message: `fault ${fault.id} set` });
  },
});

const profileIn = async ({ host }: Context, path: string): Promise<unknown> => {
  const text = await host.files.read(resolve(host.cwd, path));
  if (text === undefined)
    throw invalidArguments([problem('<file>', 'rule', `names ${path}, which does not exist`)]);
  const { parse } = await import('../../output/yaml-package.ts');
  try {
    return parse(text, { maxAliasCount: 100 });
  } catch (error) {
    throw invalidArguments([
      problem('<file>', 'format', `must be YAML or JSON: ${error instanceof Error ? error.message : error}`),
    ]);
  }
};

export const faultsLoad = defineCommand({
  path: ['mock', 'faults', 'load'],
  noDryRun: 'opsctl mock faults list',
  summary: 'Replace all faults by those of a file',
  about:
    'The file is a list in YAML or JSON; each entry has the fields that `mock faults list -o json` prints: method, path, status, body, headers, ' +
    'content_type, delay_ms, delay_max_ms, bytes_per_second, cut, when, skip, percent, count. The first entry that matches a request is used.',
  args: [{ name: 'file', field: str(4096, { min: 1 }), summary: 'The profile', complete: 'file' }],
  examples: [{ line: 'opsctl mock faults load faults.yaml', says: 'The faults of a file, and no others' }],
  run: async (context, values) => {
    const profile = await profileIn(context, values.file);
    const { steer } = await import('./remote.ts');
    const faults: unknown[] = await steer(context, (ask) => ask('PUT', 'faults', profile));
    return rowsResult(faults, { columns, message: `${faults.length} faults set` });
  },
});

export const faultsList = defineCommand({
  path: ['mock', 'faults', 'list'],
  summary: 'Faults that wait for requests',
  run: async (context) => {
    const { steer } = await import('./remote.ts');
    return rowsResult(await steer(context, (ask) => ask('GET', 'faults')), { columns });
  },
});

export const faultsClear = defineCommand({
  path: ['mock', 'faults', 'clear'],
  noDryRun: 'opsctl mock faults list',
  summary: 'Clear faults',
  args: [
    { name: 'fault', field: int({ min: 1 }), summary: 'number of one fault; all without it', optional: true },
  ],
  run: async (context, values) => {
    const { steer } = await import('./remote.ts');
    await steer(context, (ask) =>
      ask('DELETE', values.fault === undefined ? 'faults' : `faults/${values.fault}`),
    );
    return nothing(values.fault === undefined ? 'all faults are gone' : `fault ${values.fault} is gone`);
  },
});
