import { AppError, usageError } from '../core/problem.ts';
import { tooLargeYaml } from '../core/yaml-parse.ts';
import type { PermissionDef } from './definition.ts';
import type { Drift } from './drift.ts';
import { choiceText, fieldText, permissionText } from './export-file.ts';
import { definitionOf } from './from-label.ts';
import { match } from './match.ts';
import { type Prepared, lostOf } from './prepared.ts';
import { absolute, tooLarge } from './read-files.ts';
import type { Session } from './session.ts';
import { type YamlDocument, isMap, isScalar, isSeq, parseAllDocuments } from './yaml-package.ts';

type Step = string | number;
type Part = { readonly id?: string; readonly name: string };
/** One list of parts in a file, with the parts of the service that they stand for. */
type List = {
  readonly path: readonly Step[];
  readonly wanted: readonly Part[];
  readonly live: readonly { readonly id: string; readonly name: string }[];
  readonly plain: (id: string) => unknown;
};

const itemsAt = (document: YamlDocument, path: readonly Step[]): unknown[] => {
  const node = document.getIn(path);
  if (isSeq(node)) return node.items;
  document.setIn(path, document.createNode([]));
  const made = document.getIn(path);
  return isSeq(made) ? made.items : [];
};

/** What is written behind a value stays there. */
const replaceAt = (document: YamlDocument, path: readonly Step[], value: unknown): void => {
  const before = document.getIn(path, true);
  const node = document.createNode(value);
  if (isScalar(before) && isScalar(node)) node.comment = before.comment;
  document.setIn(path, node);
};

/** A choice that is only a name becomes `{name}` before it gets another member. */
const setMember = (document: YamlDocument, path: readonly Step[], member: string, value: unknown): void => {
  const node = document.getIn(path, true);
  if (isScalar(node)) document.setIn(path, document.createNode({ name: node.value }));
  replaceAt(document, [...path, member], value);
};

/** Adds what is missing, drops what is gone and puts the rest into the order of the service. */
const alignList = (
  document: YamlDocument,
  list: List,
  drifts: readonly Drift[],
  idOf: (d: Drift) => string,
): void => {
  const items = itemsAt(document, list.path);
  const { pairs } = match(list.wanted, list.live, '');
  const rows = pairs.map((pair, i) => ({ id: pair.live?.id, part: pair.wanted, item: items[i] }));
  const structural = drifts.filter(({ at }) => at.member === undefined).map(idOf);
  const goneIds = structural.filter((id) => !list.live.some((one) => one.id === id));
  const goneNames = drifts.filter((d) => goneIds.includes(idOf(d))).map((d) => d.was);
  const kept = rows.filter(
    ({ id, part }) => id !== undefined || !(goneIds.includes(part.id ?? '') || goneNames.includes(part.name)),
  );
  const added = structural
    .filter((id) => list.live.some((one) => one.id === id) && !kept.some((row) => row.id === id))
    .map((id) => ({ id, item: document.createNode(list.plain(id)) as unknown }));
  const place = (id: string | undefined): number => list.live.findIndex((one) => one.id === id);
  const all: { readonly id: string | undefined; readonly item: unknown }[] = [...kept];
  for (const one of added) {
    const next = all.findIndex((row) => place(row.id) > place(one.id));
    all.splice(next < 0 ? all.length : next, 0, one);
  }
  if (drifts.some(({ at }) => at.member === 'order')) all.sort((a, b) => place(a.id) - place(b.id));
  items.splice(0, items.length, ...all.map(({ item }) => item));
};

const setLabel = (document: YamlDocument, { live, permissions }: Prepared, member: string): void => {
  if (live === undefined) return;
  if (member === 'permissions') {
    const all = (permissions?.live ?? []).map((one) =>
      permissionText({ ...one, role: one.role ?? '' } as PermissionDef),
    );
    document.set('permissions', document.createNode(all));
    return;
  }
  const said: Readonly<Record<string, unknown>> = { state: 'published', ...definitionOf(live) };
  replaceAt(document, [member], said[member] ?? null);
};

/** A choice of a field, or the order of all of them. */
const isOfChoices = ({ fieldId, choiceId, member }: Drift['at']): boolean =>
  choiceId !== undefined || (fieldId !== undefined && member === 'order');

const alignChoices = (document: YamlDocument, prepared: Prepared, drifts: readonly Drift[]): void => {
  const { live, wanted } = prepared;
  const { pairs } = match(wanted.fields ?? [], live?.fields ?? [], '');
  for (const [i, { wanted: field, live: known }] of pairs.entries()) {
    const own = drifts.filter(({ at }) => at.fieldId === known?.id && isOfChoices(at));
    if (known === undefined || field.choices === undefined || own.length === 0) continue;
    const path = ['fields', i, 'choices'];
    const said = match(field.choices, known.choices, '').pairs;
    for (const { at } of own) {
      const index = said.findIndex((pair) => pair.live?.id === at.choiceId);
      const choice = known.choices.find(({ id }) => id === at.choiceId);
      if (at.member === undefined || index < 0 || choice === undefined) continue;
      const value = choiceText({ description: null, badge: null, disabled: false, ...choice })[at.member];
      setMember(document, [...path, index], at.member, value);
    }
    const plain = (id: string): unknown => {
      const choice = known.choices.find((one) => one.id === id);
      return choice === undefined ? {} : choiceText(choice);
    };
    alignList(
      document,
      { path, wanted: field.choices, live: known.choices, plain },
      own,
      ({ at }) => at.choiceId ?? '',
    );
  }
};

const alignFields = (document: YamlDocument, { live, wanted }: Prepared, drifts: readonly Drift[]): void => {
  if (live === undefined || wanted.fields === undefined) return;
  const all = definitionOf(live).fields ?? [];
  const textFor = (id: string | undefined): Readonly<Record<string, unknown>> => {
    const field = all.find((one) => one.id === id);
    return field === undefined ? {} : fieldText(field);
  };
  const own = drifts.filter(
    ({ at }) => !isOfChoices(at) && (at.fieldId !== undefined || at.member === 'order'),
  );
  const { pairs } = match(wanted.fields, live.fields, '');
  for (const { at } of own) {
    const index = pairs.findIndex((pair) => pair.live?.id === at.fieldId);
    if (at.member !== undefined && at.member !== 'order' && index >= 0)
      setMember(document, ['fields', index], at.member, textFor(at.fieldId)[at.member] ?? null);
  }
  const list = { path: ['fields'], wanted: wanted.fields, live: live.fields, plain: textFor };
  alignList(document, list, own, ({ at }) => at.fieldId ?? '');
};

const settle = (document: YamlDocument, prepared: Prepared): void => {
  const drifts = lostOf(prepared);
  for (const { at } of drifts)
    if (at.fieldId === undefined && at.member !== undefined && at.member !== 'order')
      setLabel(document, prepared, at.member);
  // Choices first: their paths name fields by where they stand in the file as it was read.
  alignChoices(document, prepared, drifts);
  alignFields(document, prepared, drifts);
};

const refuseDeleted = ({ wanted, live, wish }: Prepared): void => {
  if (live !== undefined) return;
  throw new AppError('unsafe', `label ${wanted.title} was deleted there; nothing was changed`, {
    code: 'CHANGED_MEANWHILE',
    tryThis: [`remove ${wish.source}`, '--take ours, to make the label again'],
  });
};

const rewritten = (file: string, text: string, prepared: readonly Prepared[]): string => {
  const why = tooLargeYaml(text);
  if (why !== undefined) throw tooLarge(file, why);
  const documents = parseAllDocuments(text);
  const said = documents.filter((one) => one.toJS() !== null);
  for (const one of prepared) {
    const document = said[one.wish.document.index];
    if (document === undefined || !isMap(document.contents))
      throw usageError(`${file} is a list of definitions: --take theirs needs one definition a document`);
    settle(document, one);
  }
  if (/\.json$/i.test(file)) return `${JSON.stringify(documents[0]?.toJS(), undefined, 2)}\n`;
  const flowCollectionPadding = /\{ /.test(text);
  return documents
    .map((one) => one.toString({ lineWidth: 0, flowCollectionPadding }))
    .map((one, i) => (i === 0 || one.startsWith('---') ? one : `---\n${one}`))
    .join('');
};

/** Writes into the files what others changed and the files would undo; the rest of them, and their comments, stay. */
export const takeTheirs = async ({ context }: Session, losing: readonly Prepared[]): Promise<void> => {
  for (const one of losing) refuseDeleted(one);
  const files = new Map<string, Prepared[]>();
  for (const one of losing) {
    const { file } = one.wish.document;
    if (file === undefined) throw usageError('--take theirs writes files; standard input is none');
    files.set(file, [...(files.get(file) ?? []), one]);
  }
  for (const [file, group] of files) {
    const path = absolute(context, file);
    const text = rewritten(file, (await context.host.files.read(path)) ?? '', group);
    if (!context.isDryRun) await context.host.files.replace(path, text);
    const what = group.flatMap((one) => lostOf(one).map((drift) => drift.what));
    context.log.info(`${file}: ${context.isDryRun ? 'would take' : 'took'} ${what.join('; ')}`);
  }
};
