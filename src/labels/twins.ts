import { labelsService } from '../api-specs/labels/index.ts';
import { AppError } from '../core/problem.ts';
import type { LabelJson } from './api-types.ts';
import type { LiveLabel } from './definition.ts';
import { liveFrom } from './from-label.ts';
import type { Prepared } from './prepared.ts';
import { allTitles, getDefinition } from './read-labels.ts';
import { titleOf } from './resolve-label.ts';
import { type Session, adminBody } from './session.ts';

const { labels } = labelsService.table;

/** A label that this run made. */
export type Made = { readonly prepared: Prepared; readonly live: LiveLabel };
export type Twin = Made & {
  /** Made by another run at the same time, and first. */
  readonly first: LabelJson;
};

const isBefore = (a: LabelJson, b: LabelJson): boolean =>
  (a.createTime ?? '') === (b.createTime ?? '')
    ? (a.id ?? '') < (b.id ?? '')
    : (a.createTime ?? '') < (b.createTime ?? '');

/**
 * Labels of one title that two runs made at the same time. There was none when this run looked, so each is new; every
 * run judges by the same order, so exactly one of them stays. One look at the titles, after everything was made.
 */
export const twinsOf = async (session: Session, made: readonly Made[]): Promise<Twin[]> => {
  if (made.length === 0) return [];
  const all: LabelJson[] = [];
  const titles = new Set(made.map(({ live }) => live.title));
  for await (const label of allTitles(session.context, session.options))
    if (titles.has(titleOf(label))) all.push(label);
  return made.flatMap((one) => {
    const alike = all.filter((label) => titleOf(label) === one.live.title);
    const [first] = alike.toSorted((a, b) => (isBefore(a, b) ? -1 : 1));
    return first === undefined || first.id === one.live.id ? [] : [{ ...one, first }];
  });
};

/** Takes the later one away again: it is new, and pinned, so nothing that anybody did is lost. */
export const removeTwin = async (session: Session, { live }: Twin): Promise<void> => {
  const { context } = session;
  const params = { name: `labels/${live.id}` };
  let { revisionId } = live;
  if (live.state === 'PUBLISHED') {
    const body = { ...adminBody(session), writeControl: { requiredRevisionId: revisionId } };
    const disabled = (await context.call(labelsService, labels.disable, { params, body })) as LabelJson;
    revisionId = disabled.revisionId ?? revisionId;
  }
  const query = { ...adminBody(session), 'writeControl.requiredRevisionId': revisionId };
  try {
    await context.call(labelsService, labels.delete, { params, query });
  } catch (error) {
    if (!(error instanceof AppError) || error.category !== 'not-found') throw error;
  }
};

export const firstOf = async (session: Session, { first }: Twin): Promise<LiveLabel> =>
  liveFrom(await getDefinition(session.context, `labels/${first.id}`, session.options));
