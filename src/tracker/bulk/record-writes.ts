import { tracker } from '../../api-specs/tracker/index.ts';
import type { Context } from '../../api/context.ts';
import { newWriteRecord } from '../../api/audit.ts';
import { type LooseInput, type Operation, operations } from '../../core/operation.ts';
import { AppError, messageOf } from '../../core/problem.ts';
import type { AppendFile } from '../../platform/host.ts';
import { targetMark } from './earlier-run.ts';
import { RecordKeys } from './external-keys.ts';
import type { About } from './journal.ts';
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

/**
 * The changes of one command, in the format of a bulk journal: each entry is in the file before its request. A record that cannot be
 * written costs the undo and not the change.
 */
class WriteRecord {
  readonly #context: Context;
  readonly #command: string;
  readonly #keys: RecordKeys;
  #file: Promise<AppendFile> | undefined;
  #count = 0;
  constructor(context: Context, command: string) {
    this.#context = context;
    this.#command = command;
    this.#keys = new RecordKeys(context);
  }
  async #open(): Promise<AppendFile> {
    const { host } = this.#context;
    const service = await this.#context.target('tracker');
    const path = await newWriteRecord(this.#context, 'tracker');
    const about: About = {
      file: this.#command,
      target: targetMark(service),
      service: service.isMock ? 'embedded mock server' : service.baseUrl,
    };
    const file = host.files.append(path, 0o600);
    file.write(`h ${host.now()}\nm ${JSON.stringify(about)}\n`);
    return file;
  }
  async #add(text: string): Promise<void> {
    try {
      this.#file ??= this.#open();
      (await this.#file).write(text);
    } catch (error) {
      const why = `this change cannot be undone with opsctl undo, because its record cannot be written: ${messageOf(error)}`;
      this.#context.log.warnOnce('write-record', why);
    }
  }
  async #before(operation: Operation, input: LooseInput): Promise<Before> {
    const row = rowOf(operation);
    const verb = VERBS.find((one) => one === row?.verb);
    if (row === undefined || verb === undefined)
      return { resource: row?.resource ?? operation.path, op: 'update', irreversible: true };
    const { resource } = row;
    const record = verb === 'create' ? undefined : await this.#read(resource, input);
    return beforeOf({ resource, verb, operation, input }, record);
  }
  /** The request of the change itself reports why a record cannot be read. */
  async #read(resource: string, { params = {}, body }: LooseInput): Promise<RecordRow | undefined> {
    try {
      return await this.#keys.current(resource, params, Object.keys(body ?? {}));
    } catch (error) {
      if (error instanceof AppError && !this.#context.signal.aborted) return undefined;
      throw error;
    }
  }
  /** Sends a change between its entries. */
  async send<T>(operation: Operation, input: LooseInput, send: () => Promise<T>): Promise<T> {
    this.#count += 1;
    const line = this.#count;
    const before = await this.#before(operation, input);
    await this.#add(`b ${line} ${JSON.stringify(before)}\ns ${line} -\n`);
    try {
      const answer = await send();
      await this.#add(`d ${line} -${doneText(before, input, answer)}\n`);
      return answer;
    } catch (error) {
      if (wasRejected(error)) await this.#add(`f ${line} -\n`);
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
  if (op === 'delete' || !isRecord) return ` ${id}`;
  const written = op === 'update' ? Object.keys(body ?? {}) : [];
  return ` ${id} ${markText(markRecord(resource, answer as RecordRow, written))}`;
};
/** A context that notes what its changes replace, so that `opsctl undo` can revert them. A dry run notes nothing. */
export const withWriteRecord = (context: Context, command: string): Context => {
  if (context.isDryRun) return context;
  const record = new WriteRecord(context, command);
  return {
    ...context,
    call: (service, operation, input, options) => {
      const send = (): Promise<unknown> => context.call(service, operation, input, options);
      return service.name === 'tracker' && isWrite(operation) ? record.send(operation, input, send) : send();
    },
  };
};
