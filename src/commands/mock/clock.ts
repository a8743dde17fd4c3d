import { bool, str } from '../../core/field.ts';
import { parseDuration } from '../../core/duration.ts';
import { recordResult } from '../../core/result.ts';
import { defineCommand, type Context } from '../../cli/command.ts';

const ask = async (context: Context, method: string, body?: unknown) => {
  const { steer } = await import('./remote.ts');
  const state = await steer(context, (send) => send(method, 'clock', body));
  return recordResult(state, {
    message: `the mock's time is ${state.time}${state.frozen ? ', and stands still' : ''}`,
  });
};

/** What the control interface takes: some three centuries. */
const LONGEST_STEP_MS = 1e13;

export const clockShow = defineCommand({
  path: ['mock', 'clock', 'show'],
  summary: "The mock server's time",
  run: (context) => ask(context, 'GET'),
});
export const clockSet = defineCommand({
  path: ['mock', 'clock', 'set'],
  noDryRun: 'opsctl mock clock show',
  summary: "Set the mock server's time; it runs on from there",
  args: [
    { name: 'time', field: { ...str(40), format: 'datetime' }, summary: 'such as 2026-03-31T12:30:00Z' },
  ],
  flags: { freeze: { field: bool(), summary: 'Let it stand still' } },
  run: (context, values) =>
    ask(context, 'PUT', { time: values.time, ...(values.freeze === true ? { frozen: true } : {}) }),
});
export const clockAdvance = defineCommand({
  path: ['mock', 'clock', 'advance'],
  noDryRun: 'opsctl mock clock show',
  summary: "Move the mock server's time forward",
  about:
    'Tokens expire, windows of rate limits end, deleted clients are gone after 30 days: without waiting.',
  args: [{ name: 'span', field: str(40, { min: 1 }), summary: 'such as 90s, 1h30m or 31d' }],
  examples: [{ line: 'opsctl mock clock advance 31d', says: 'What 30 days would do' }],
  run: (context, values) =>
    ask(context, 'PUT', { advance_ms: Math.round(parseDuration(values.span, '<span>', LONGEST_STEP_MS)) }),
});
export const clockReset = defineCommand({
  path: ['mock', 'clock', 'reset'],
  noDryRun: 'opsctl mock clock show',
  summary: "Back to the machine's time",
  run: (context) => ask(context, 'DELETE'),
});
