import { int, list, str } from '../../core/field.ts';
import { parseDuration } from '../../core/duration.ts';
import { problem, usageError } from '../../core/problem.ts';
import { nothing, recordResult, rowsResult } from '../../core/result.ts';
import { faultInput } from '../../mock-server/faults.ts';
import type { Command, Flag, Values } from '../../cli/command.ts';

const columns = [
  'id',
  'method',
  'path',
  'status',
  'delay_ms',
  'cut',
  'content_type',
  'when',
  'count',
  'hits',
];
const { fields } = faultInput;

const flags: Readonly<Record<string, Flag>> = {
  method: { field: fields.method, summary: fields.method.summary, complete: 'method' },
  path: { field: fields.path, summary: fields.path.summary, value: 'pattern' },
  status: { field: fields.status, summary: fields.status.summary },
  body: { field: fields.body, summary: fields.body.summary },
  header: { field: list(str(1000)), summary: 'a header of the answer', repeat: true, value: 'name=value' },
  'content-type': { field: fields.content_type, summary: fields.content_type.summary },
  delay: { field: str(20, { min: 1 }), summary: fields.delay_ms.summary, value: 'span' },
  cut: { field: fields.cut, summary: fields.cut.summary },
  when: { field: fields.when, summary: fields.when.summary },
  count: { field: fields.count, summary: fields.count.summary },
};

const headersOf = (texts: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf('=');
      if (at < 1)
        throw usageError('invalid arguments', [
          problem('--header', 'format', `must be name=value; got ${JSON.stringify(text)}`),
        ]);
      return [text.slice(0, at).toLowerCase(), text.slice(at + 1)];
    }),
  );

const inputOf = ({
  header,
  delay,
  'content-type': contentType,
  ...plain
}: Values): Record<string, unknown> => ({
  ...plain,
  ...(header === undefined ? {} : { headers: headersOf(header) }),
  ...(contentType === undefined ? {} : { content_type: contentType }),
  ...(delay === undefined ? {} : { delay_ms: Math.round(parseDuration(delay, '--delay')) }),
});

export const faultsAdd: Command = {
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
  ],
  check: (values) => {
    const acts = ['status', 'body', 'content-type', 'delay', 'cut', 'header'];
    return acts.some((name) => values[name] !== undefined)
      ? []
      : [problem('', 'required', `give at least one of ${acts.map((name) => `--${name}`).join(', ')}`)];
  },
  run: async (context, values) => {
    const { steer } = await import('./remote.ts');
    const fault = await steer(context, (ask) => ask('POST', 'faults', inputOf(values)));
    return recordResult(fault, { columns, message: `fault ${fault.id} set` });
  },
};

export const faultsList: Command = {
  path: ['mock', 'faults', 'list'],
  summary: 'Faults that wait for requests',
  run: async (context) => {
    const { steer } = await import('./remote.ts');
    return rowsResult(await steer(context, (ask) => ask('GET', 'faults')), { columns });
  },
};

export const faultsClear: Command = {
  path: ['mock', 'faults', 'clear'],
  noDryRun: 'opsctl mock faults list',
  summary: 'Take faults away',
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
};
