import { type Result, recordResult } from '../core/result.ts';
import type { Context } from '../cli/command.ts';
import type { LiveLabel } from './definition.ts';
import { liveFrom } from './from-label.ts';
import type { LockJson } from './api-types.ts';
import { type Asking, allLocks, getLabel } from './read-labels.ts';
import { withLabel } from './resolve-label.ts';

type Node = {
  readonly what: string;
  readonly id: string;
  readonly lock: string | null;
  readonly held: boolean;
  readonly inside: readonly Node[];
};

const lockAt = (locks: readonly LockJson[], fieldId?: string, choiceId?: string): LockJson | undefined =>
  locks.find((lock) => (lock.fieldId || undefined) === fieldId && (lock.choiceId || undefined) === choiceId);
const text = (lock: LockJson | undefined): string | null =>
  lock === undefined ? null : `${lock.name?.split('/').pop()} (${lock.state?.toLowerCase()})`;

/** A label's parts, each with its own lock, and whether something around it is locked (`held`). Pure. */
const lockTree = (label: LiveLabel, locks: readonly LockJson[]): Node => {
  const whole = lockAt(locks);
  const fields = label.fields.map((field): Node => {
    const own = lockAt(locks, field.id);
    const choices = field.choices.map(
      (choice): Node => ({
        what: `choice ${choice.name}`,
        id: choice.id,
        lock: text(lockAt(locks, field.id, choice.id)),
        held: whole !== undefined || own !== undefined,
        inside: [],
      }),
    );
    return {
      what: `field ${field.name}`,
      id: field.id,
      lock: text(own),
      held: whole !== undefined,
      inside: choices,
    };
  });
  return { what: `label ${label.title}`, id: label.id, lock: text(whole), held: false, inside: fields };
};

const isOfInterest = (node: Node): boolean => node.lock !== null || node.inside.some(isOfInterest);
const mark = (node: Node): string =>
  node.lock !== null ? `  locked: ${node.lock}` : node.held ? '  held by the lock above' : '';

/** Lines of a tree; choices are shown only where one of them is locked. Pure. */
const treeText = (node: Node, lead = '', branch = ''): string[] => {
  const shown = node.inside.filter(
    (inner) => inner.inside.length > 0 || node.what.startsWith('label') || isOfInterest(inner),
  );
  const below = lead + (branch === '' ? '' : branch.startsWith('└') ? '   ' : '│  ');
  return [
    `${lead}${branch}${node.what}${mark(node)}`,
    ...shown.flatMap((inner, i) => treeText(inner, below, i === shown.length - 1 ? '└─ ' : '├─ ')),
  ];
};

/** What of a label is locked, as a tree. */
export const showLocks = (context: Context, typed: string, asking: Asking): Promise<Result> =>
  withLabel(context, typed, asking, async (name) => {
    const label = liveFrom(await getLabel(context, name, asking));
    const tree = lockTree(label, await allLocks(context, `labels/${label.id}`));
    return recordResult(tree, { text: treeText(tree).join('\n') });
  });
