import { basename, dirname, join, resolve } from 'node:path';
import type { Runtime } from '../../api/context.ts';
import { childPath, pathPart } from '../../core/file-name.ts';
import { AppError } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import { type About, parseJournal, readJournalText } from './journal.ts';
import { type Before, type Mark, parseMark } from './previous.ts';

/** The ID of a run: the millisecond in which it started. */
export const runId = (startedAt: number): string => Math.floor(startedAt).toString(36);
/** Journals of runs that a newer run of the same file replaced. */
const KEPT = '.run';
const MOST_KEPT = 50;
const directoryOf = ({ settings }: Runtime): string => join(settings.directories.state, 'bulk');

/** What one row of a run did. `after` is missing when the run did not see the response. */
export type Effect = {
  readonly line: number;
  readonly before: Before;
  readonly state: 'sent' | 'done' | 'failed';
  readonly id?: string;
  readonly after?: Mark;
  /** True when an earlier undo created the record again and was interrupted. */
  readonly isInDoubt?: boolean;
};
export type UndoRun = {
  readonly id: string;
  readonly path: string;
  readonly startedAt: number;
  readonly isFinished: boolean;
  readonly about?: About;
  /** In the order in which the rows were completed. */
  readonly effects: readonly Effect[];
  /** Rows that an earlier undo reverted. */
  readonly undone: number;
};
/** Adds what one entry means for the undo of its row. */
const addEntry = (rows: Map<number, Effect>, entry: string): void => {
  const [kind = '', number = '', , id, mark = ''] = entry.split(' ');
  const line = Number(number);
  const known = rows.get(line);
  if (kind === 'b') {
    // A row that is sent again after a lost connection keeps the values of the first time.
    if (known?.state === 'sent') return;
    rows.delete(line);
    rows.set(line, { line, before: JSON.parse(entry.slice(`b ${number} `.length)) as Before, state: 'sent' });
  }
  if (known === undefined) return;
  if (kind === 'f') rows.set(line, { ...known, state: 'failed' });
  if (kind === 'x') rows.set(line, { ...known, isInDoubt: true });
  if (kind === 'u') rows.delete(line);
  if (kind !== 'd') return;
  rows.delete(line);
  const after = parseMark(mark);
  rows.set(line, { ...known, state: 'done', ...(id ? { id } : {}), ...(after ? { after } : {}) });
};
/** Reads what a journal notes for an undo. Throws for a damaged journal. */
export const parseUndo = (text: string, path: string): UndoRun => {
  const { startedAt, isFinished, isPartial, isRecovered } = parseJournal(text, path);
  const whole = text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1);
  const rows = new Map<number, Effect>();
  let about: About | undefined;
  for (const entry of whole) {
    if (entry.startsWith('m ')) about = JSON.parse(entry.slice(2)) as About;
    addEntry(rows, entry);
  }
  return {
    ...{ id: runId(startedAt), path, startedAt },
    isFinished: isFinished || isPartial === true || isRecovered === true,
    ...(about === undefined ? {} : { about }),
    effects: [...rows.values()].filter(({ state }) => state !== 'failed'),
    undone: whole.filter((entry) => entry.startsWith('u ')).length,
  };
};

const isJournal = (name: string): boolean => name.endsWith('.journal') || name.endsWith(KEPT);
const startOf = async (host: Host, path: string): Promise<number | undefined> => {
  const parts = host.files.openParts(path);
  if (parts === undefined) return undefined;
  try {
    const [, start] = /^h (\d+)/.exec(Buffer.from(parts.read(0, 40)).toString('latin1')) ?? [];
    return start === undefined ? undefined : Number(start);
  } finally {
    parts.close();
  }
};
/** Paths and starts of the journals that this machine has, the newest first. */
const journalsIn = async (host: Host, directory: string): Promise<{ path: string; startedAt: number }[]> => {
  const found: { path: string; startedAt: number }[] = [];
  for (const name of await host.files.list(directory)) {
    if (!isJournal(name)) continue;
    const path = childPath(directory, pathPart(name));
    const startedAt = await startOf(host, path);
    if (startedAt !== undefined) found.push({ path, startedAt });
  }
  return found.toSorted((a, b) => b.startedAt - a.startedAt);
};
/** Keeps the journal of an earlier run of the same file if that run can be undone; the oldest ones are removed. */
export const keepJournal = async (host: Host, path: string): Promise<void> => {
  const text = await readJournalText(host, path);
  if (!text?.includes('\nb ')) return;
  const directory = dirname(path);
  const [, startedAt = '0'] = /^h (\d+)/.exec(text) ?? [];
  const name = `${basename(path, '.journal')}-${runId(Number(startedAt))}${KEPT}`;
  await host.files.rename(path, childPath(directory, pathPart(name)));
  const kept = (await journalsIn(host, directory)).filter((one) => one.path.endsWith(KEPT));
  for (const old of kept.slice(MOST_KEPT)) await host.files.remove(old.path);
};

export const readRun = async (host: Host, path: string): Promise<UndoRun> =>
  parseUndo((await readJournalText(host, path)) ?? '', path);
/** The runs of this machine that can be undone, the newest first. */
export const listRuns = async (runtime: Runtime): Promise<UndoRun[]> => {
  const runs: UndoRun[] = [];
  for (const { path } of await journalsIn(runtime.host, directoryOf(runtime))) {
    const run = await readRun(runtime.host, path);
    if (run.effects.length + run.undone > 0) runs.push(run);
  }
  return runs;
};
/** The run with an ID, or of a journal that `--journal` wrote. */
export const findRun = async (runtime: Runtime, given: string): Promise<UndoRun> => {
  const { host } = runtime;
  const named = (await journalsIn(host, directoryOf(runtime))).filter(
    ({ startedAt }) => runId(startedAt) === given,
  );
  const path = resolve(host.cwd, given);
  if (named.length === 0 && (await host.files.info(path)) !== undefined) return readRun(host, path);
  const runs: UndoRun[] = [];
  for (const one of named) runs.push(await readRun(host, one.path));
  const [first, ...more] = runs.filter(
    ({ effects, undone }) => runs.length === 1 || effects.length + undone > 0,
  );
  if (first !== undefined && more.length === 0) return first;
  if (first !== undefined)
    throw new AppError('usage', `${runs.length} runs started at the same time: ${given}`, {
      code: 'AMBIGUOUS_RUN',
      tryThis: runs.map((run) => `opsctl tracker bulk undo ${run.path}`),
    });
  throw new AppError('not-found', `bulk run not found: "${given}"`, {
    code: 'RUN_NOT_FOUND',
    tryThis: ['opsctl tracker bulk runs', 'name the journal that --journal wrote'],
  });
};
