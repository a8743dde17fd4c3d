import { type AuditEntry, auditFiles } from '../api/audit.ts';
import { type Command, defineCommand } from '../cli/command.ts';
import { duration, int, oneOf } from '../core/field.ts';
import type { Flags } from '../core/flag.ts';
import { parseDuration } from '../core/format.ts';
import { rowsResult } from '../core/result.ts';
import { fittingJson } from '../core/shape.ts';

const flags = {
  service: {
    effects: [],
    field: oneOf('tracker', 'labels', 'api', 'kv'),
    summary: 'Only changes of this service',
    value: 'tracker|labels|api|kv',
  },
  since: {
    effects: [],
    field: duration(),
    summary: 'Only changes of the last 2h, 30m or 7d',
    value: 'duration',
  },
  limit: { effects: [], field: int({ min: 1 }), summary: 'Only the newest changes', value: 'number' },
} as const satisfies Flags;

const entryShape = { at: 'text', command: 'text', service: 'text', outcome: 'text' } as const;
/** A line that a crash cut is not an entry. */
const entriesIn = (text: string): AuditEntry[] =>
  text.split('\n').flatMap((line) => (line === '' ? [] : (fittingJson<AuditEntry>(line, entryShape) ?? [])));

const audit = defineCommand({
  path: ['audit'],
  summary: 'Show the changes that opsctl made from this machine',
  about:
    'opsctl appends one line for each change of a service to a file in the state directory of the profile: command, request without secrets, outcome and duration. The file is private, opsctl never changes its lines, and it keeps at most 8 MiB. A command of kv is one line; opsctl kv history has its steps.',
  flags,
  examples: [
    { line: 'opsctl audit --since 1h', says: 'Show what changed in the last hour' },
    {
      line: 'opsctl audit -o json --jq \'.[] | select(.outcome == "unknown")\'',
      says: 'Find changes of which nobody knows whether the service applied them',
    },
  ],
  run: async ({ host, settings }, { service, since, limit }) => {
    const texts = await Promise.all(auditFiles(settings).map((path) => host.files.read(path)));
    const from = since === undefined ? 0 : host.now() - parseDuration(since, '--since');
    const found = texts
      .flatMap((text) => entriesIn(text ?? ''))
      .filter((one) => (service === undefined || one.service === service) && Date.parse(one.at) >= from);
    return rowsResult(limit === undefined ? found : found.slice(-limit), {
      columns: ['at', 'command', 'method', 'url', 'outcome', 'status'],
      wideColumns: ['profile', 'mock', 'duration_ms', 'body'],
      name: 'at',
    });
  },
});
export const commands: readonly Command[] = [audit];
