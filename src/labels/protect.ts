import { AppError } from '../core/problem.ts';
import { type Drift, driftText } from './drift.ts';
import { type Prepared, lostOf } from './prepared.ts';
import type { Session } from './session.ts';

const since = ({ base, entry, wanted, live }: Prepared, { deployment }: Session): string => {
  const revision = base?.revision ?? entry?.record?.deployments[deployment]?.revision ?? wanted.revision;
  const verb = entry === undefined ? 'was exported' : 'was applied';
  return live === undefined
    ? `revision ${revision} ${verb}`
    : `revision ${revision} ${verb}, and is now at ${live.revisionId},`;
};

const lineOf = (session: Session, prepared: Prepared): string => {
  const { wish, live, wanted } = prepared;
  const name = live === undefined ? wanted.title : `${live.title} (labels/${live.id})`;
  const what = lostOf(prepared).map((one) => one.what);
  return `label ${name} was changed in ${session.deployment} since ${since(prepared, session)} and ${wish.source} would undo: ${what.join('; ')}`;
};

export const driftRow = ({ what, was, is, isLost, at }: Drift) => ({
  what,
  ...(was === undefined ? {} : { was }),
  ...(is === undefined ? {} : { is }),
  undone_by_file: isLost,
  ...(at.fieldId === undefined ? {} : { field_id: at.fieldId }),
  ...(at.choiceId === undefined ? {} : { choice_id: at.choiceId }),
});

const hintsFor = (prepared: readonly Prepared[]): string[] => {
  const [{ wish, entry } = { wish: { source: '-' }, entry: undefined }] = prepared;
  return [
    `opsctl labels diff -f ${wish.source}`,
    '--take ours, to undo it all the same',
    ...(entry === undefined
      ? [`opsctl labels adopt -f ${wish.source}, once the file is what you want`]
      : ['--take theirs, to write it into the file']),
  ];
};

/** Lost-update safety: a definition may add to what others did since it was applied, never undo it. Judged for all labels at once. */
export const refuseLost = (session: Session, prepared: readonly Prepared[]): void => {
  const losing = prepared.filter((one) => lostOf(one).length > 0);
  if (losing.length === 0 || session.options.take === 'ours') return;
  const lines = losing.map((one) => lineOf(session, one));
  throw new AppError('unsafe', `${lines.join('\n')}. Nothing was sent.`, {
    code: 'CHANGED_MEANWHILE',
    tryThis: hintsFor(losing),
    data: {
      deployment: session.deployment,
      labels: losing.map((one) => ({
        label: one.live === undefined ? null : `labels/${one.live.id}`,
        title: one.wanted.title,
        seen_revision: one.base?.revision ?? null,
        revision: one.live?.revisionId ?? null,
        drift: lostOf(one).map(driftRow),
      })),
    },
  });
};

export const driftLines = ({ drift }: Prepared): string[] =>
  drift.map((one) => `  ! ${driftText(one)}${one.isLost ? '' : ' (the file has it as well)'}`);
