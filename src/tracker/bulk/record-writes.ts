import { tracker } from '../../api-specs/tracker/index.ts';
import type { Context } from '../../api/context.ts';
import { WriteRecord } from '../../api/write-record.ts';
import { type LooseInput, type Operation, operations } from '../../core/operation.ts';
import { AppError } from '../../core/problem.ts';
import { RecordKeys } from './external-keys.ts';
import { type Before, beforeOf, markRecord, markText } from './previous.ts';

type RecordRow = Readonly<Record<string, unknown>>;
const VERBS = ['create', 'update', 'delete'] as const;
type Row = { readonly resource: string; readonly verb: string };
const rowOf = ({ method, path }: Operation): Row | undefined =>
  operations(tracker.table).find(({ operation }) => operation.method === method && operation.path === path);
const isWrite = ({ method, path }: Operation): boolean => method !== 'GET' && !/\/search$/.test(path);
/** The service did not apply the change. After a lost connection this is unknown. */
const wasRejected = (error: unknown): boolean =>
  error instanceof AppError && error.detail.outcome !== 'unknown' && error.category !== 'network';

/** Notes the changes of one command in the journal of changes. */
class TrackerRecord {
  readonly #record: WriteRecord;
  readonly #keys: RecordKeys;
  constructor(context: Context, command: string) {
    this.#record = new WriteRecord(context, 'tracker', command);
    this.#keys = new RecordKeys(context);
  }
  async #before(operation: Operation, input: LooseInput): Promise<Before> {
    const row = rowOf(operation);
    const verb = VERBS.find((one) => one === row?.verb);
    if (row === undefined || verb === undefined)
      return { resource: row?.resource ?? operation.path, op: 'update', irreversible: true };
    const { resource } = row;
    const { params = {}, body = {} } = input;
    const record =
      verb === 'create' ? undefined : await this.#keys.forUndo(resource, params, Object.keys(body));
    return beforeOf({ resource, verb, operation, input }, record);
  }
  /** Sends a change between its entries. */
  async send<T>(operation: Operation, input: LooseInput, send: () => Promise<T>): Promise<T> {
    const record = this.#record;
    const line = record.nextLine();
    const before = await this.#before(operation, input);
    await record.noteBefore(line, before);
    try {
      const answer = await send();
      await record.noteDone(line, doneText(before, input, answer));
      return answer;
    } catch (error) {
      if (wasRejected(error)) await record.noteRejected(line);
      throw error;
    }
  }
}
const doneText = (
  { resource, op, irreversible }: Before,
  { params = {}, body }: LooseInput,
  answer: unknown,
): string => {
  const record = answer as RecordRow | undefined;
  const id = irreversible === true ? undefined : (record?.id ?? Object.values(params).at(-1));
  if (id === undefined) return '';
  const isRecord = typeof answer === 'object' && answer !== null && !Array.isArray(answer);
  if (op === 'delete' || !isRecord) return String(id);
  const written = op === 'update' ? Object.keys(body ?? {}) : [];
  return `${id} ${markText(markRecord(resource, answer as RecordRow, written))}`;
};
/** A context that notes what its changes replace, so that `opsctl undo` can revert them. A dry run notes nothing. */
export const withWriteRecord = (context: Context, command: string): Context => {
  if (context.isDryRun) return context;
  const record = new TrackerRecord(context, command);
  return {
    ...context,
    call: (service, operation, input, options) => {
      const send = (): Promise<unknown> => context.call(service, operation, input, options);
      return service.name === 'tracker' && isWrite(operation) ? record.send(operation, input, send) : send();
    },
  };
};
