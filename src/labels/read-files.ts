import { basename, resolve } from 'node:path';
import { copyModes } from '../api-specs/labels/wire.ts';
import type { EngineContext, Runtime } from '../api/context.ts';
import { wholeInput } from '../api/input.ts';
import { childPath, pathPart } from '../core/file-name.ts';
import { AppError, type Problem, problem, usageError } from '../core/problem.ts';
import {
  decodeUtf8,
  nulFound,
  nulRemedy,
  placeOfNul,
  refuseForeignText,
  refuseInnerMark,
  withoutByteOrderMark,
} from '../core/text.ts';
import { unclearValues, noShownTexts, type ShownTexts, shownTexts } from '../core/yaml-scalars.ts';
import {
  faultPhrase,
  fieldProblem,
  findPair,
  plainDocuments,
  tooLargeYaml,
  type YamlFault,
  yamlValue,
  stepsOfPath,
} from '../core/yaml.ts';
import type { LabelJson } from './api-types.ts';
import {
  type Badge,
  badgeMembers,
  badgeWith,
  type ChoiceDef,
  choiceMembers,
  definedStates,
  type FieldDef,
  type FieldKind,
  fieldKinds,
  fieldMembers,
  isHex,
  type LabelDef,
  labelMembers,
  type Members,
  permissionMembers,
  permissionIn,
  repeatedPermissions,
} from './definition.ts';
import { definitionOf, liveFrom } from './from-label.ts';
import { LOCK_FILE } from './lock-file.ts';
import {
  at,
  disabledIn,
  entriesIn,
  flagIn,
  isPlain,
  neededText,
  oneOfIn,
  type Plain,
  policyIn,
  present,
  type Reader,
  refuseUnknown,
  textIn,
  textOrNone,
} from './read-values.ts';
import { isMap, isNode, isSeq, LineCounter, parseAllDocuments, type YamlDocument } from '../platform/yaml.ts';

export type TextPosition = { readonly line: number; readonly column: number };

type Found = { readonly node: unknown; readonly offset: number | undefined };

const below = ({ node, offset }: Found, step: string | number): Found | undefined => {
  if (typeof step === 'number') {
    const item = isSeq(node) ? node.items[step] : undefined;
    return isNode(item) ? { node: item, offset: item.range?.[0] ?? offset } : undefined;
  }
  const pair = isMap(node) ? findPair(node.items, step) : undefined;
  if (pair === undefined) return undefined;
  const at = isNode(pair.key) ? pair.key.range?.[0] : undefined;
  return { node: pair.value, offset: at ?? offset };
};

/** Returns the position of a key; for a missing key, the position of the part that should contain it. Pure. */
const placeIn = (document: YamlDocument, counter: LineCounter, path: string): TextPosition => {
  let found: Found = {
    node: document.contents,
    offset: isNode(document.contents) ? document.contents.range?.[0] : undefined,
  };
  for (const step of stepsOfPath(path)) {
    const next = below(found, step);
    if (next === undefined) break;
    found = next;
  }
  const { line, col } = counter.linePos(found.offset ?? 0);
  return { line: Math.max(1, line), column: Math.max(1, col) };
};

/**
 * The schema of exported files, in the same directory: editors find it through the first line of each file.
 */
export const SCHEMA_FILE = 'labels.schema.json';
export const schemaLine = `# yaml-language-server: $schema=./${SCHEMA_FILE}\n`;
const objectOf = (members: Members) => ({
  type: 'object',
  properties: Object.fromEntries(
    Object.entries(members).map(([name, { summary, schema }]) => [name, { description: summary, ...schema }]),
  ),
  required: Object.entries(members).flatMap(([name, member]) => (member.required ? [name] : [])),
  additionalProperties: false,
});
/** JSON Schema (draft 7, which editors know best) of one label definition, from the table of its members. Pure. */
export const definitionSchema = () => ({
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Label definition',
  description: 'A missing key leaves the value unchanged; null, [] or false clears it.',
  ...objectOf(labelMembers),
  $defs: {
    field: objectOf(fieldMembers),
    choice: objectOf(choiceMembers),
    badge: {
      anyOf: [{ type: 'null' }, badgeMembers.color?.schema, objectOf(badgeMembers)],
    },
    permission: objectOf(permissionMembers),
  },
});
export const schemaText = (): string => `${JSON.stringify(definitionSchema(), undefined, 2)}\n`;

/** One YAML document of a file, or of standard input (`-`). */
export type Document = {
  readonly source: string;
  readonly value: unknown;
  /** The path of the file; undefined for standard input. */
  readonly file?: string;
  /** Which document of the file it is. */
  readonly index: number;
  /** True if the file contains only this definition. */
  readonly isOnly: boolean;
  /** True when --file names the directory of the file: its definitions belong together and share a lock file. */
  readonly isInDirectory?: boolean;
  /** The position of a path such as `fields[2].name`. */
  readonly placeOf: (path: string) => TextPosition;
  /** Scalars that YAML reads differently from the text of the file. */
  readonly shown?: ShownTexts;
  /** Keys without a value (`fields:`), and texts that end before a comment. */
  readonly unclear?: readonly Problem[];
  /** Paths whose text comes from a values file, with the name and the place of the value. */
  readonly filled?: ReadonlyMap<string, string>;
};
/** Rules of `labels lint`, in the directory of the definitions. */
export const LINT_FILE = 'labels.lint.yaml';
const companions: ReadonlySet<string> = new Set([LOCK_FILE, LINT_FILE, SCHEMA_FILE]);
const nameFile = (file: string): string => (file === '-' ? 'standard input' : file);
export const absolute = ({ host }: Runtime, file: string): string => resolve(host.cwd, file);
/** The value of a values file that a problem is about. */
const originOf = ({ filled = new Map<string, string>() }: Document, { path, rule }: Problem): string => {
  if (rule === 'unknown') return '';
  const from = [...filled].find(
    ([at]) => path === at || path.startsWith(`${at}.`) || path.startsWith(`${at}[`),
  );
  return from === undefined ? '' : `; the value is ${from[1]}`;
};
/** Problems with the file, the line and the column in which they stand. */
export const placeProblems = (document: Document, problems: readonly Problem[]): Problem[] =>
  problems.map((one) => ({
    ...one,
    message: `${one.message}${originOf(document, one)}`,
    file: document.source,
    ...document.placeOf(one.path),
  }));
/** The YAML reader counts a byte order mark as a column, so a list after one would be malformed. */
const decodeFile = (bytes: Uint8Array, name: string): string => {
  const text = decodeUtf8(bytes, name, 'usage');
  refuseForeignText(text, name);
  const place = placeOfNul(text);
  if (place !== undefined)
    throw usageError(`${name} contains a NUL character; no request was sent`, [
      { ...problem('', 'format', nulFound, nulRemedy), file: name, ...place },
    ]);
  refuseInnerMark(text, name);
  return withoutByteOrderMark(text);
};
export const textOf = async (context: EngineContext, file: string): Promise<string> => {
  if (file === '-') return decodeFile(await wholeInput(context.host), nameFile(file));
  const bytes = await context.host.files.readBytes(absolute(context, file));
  if (bytes === undefined)
    throw usageError(`file not found: ${file}`, [
      problem('--file', 'rule', 'must name an existing file or directory'),
    ]);
  return decodeFile(bytes, file);
};
const isDefinition = (name: string): boolean => /\.(ya?ml|json)$/i.test(name) && !companions.has(name);
/** Returns the names of the definition files in a directory. Files for other purposes are ignored. */
export const definitionFilesIn = async ({ host }: Runtime, path: string): Promise<string[]> =>
  (await host.files.list(path)).filter(isDefinition).sort();
const filesIn = async (context: EngineContext, file: string): Promise<string[]> => {
  if (file === '-') return [file];
  const path = absolute(context, file);
  const info = await context.host.files.info(path);
  if (info?.kind !== 'directory') {
    if (!companions.has(basename(file))) return [file];
    throw usageError(`${file} is not a label definition`, [
      problem('--file', 'rule', `names ${file}; name the directory instead`),
    ]);
  }
  const names = await definitionFilesIn(context, path);
  if (names.length === 0)
    throw usageError(`${file} holds no .yaml, .yml or .json file`, [
      problem('--file', 'rule', `names the directory ${file}, which has no label files`),
    ]);
  return names.map((name) => childPath(file, pathPart(name)));
};
type Tree = { readonly documents: readonly YamlDocument[]; readonly lines: LineCounter };
/**
 * Positions are computed only for errors: until then the text is kept, not the tree of its nodes. The tree
 * stays in memory after that, because thousands of positions may be needed one after another.
 */
const placesIn = (text: string): ((index: number, before?: number) => Document['placeOf']) => {
  let kept: WeakRef<Tree> | undefined;
  const tree = (): Tree => {
    const known = kept?.deref();
    if (known !== undefined) return known;
    const lines = new LineCounter();
    const made = { documents: parseAllDocuments(text, lines), lines };
    kept = new WeakRef(made);
    return made;
  };
  return (index, before = 0) =>
    (path) => {
      const { documents, lines } = tree();
      const document = documents[index];
      if (document === undefined) return { line: 1 + before, column: 1 };
      const { line, column } = placeIn(document, lines, path);
      return { line: line + before, column };
    };
};
const namesOf = (file: string): Pick<Document, 'source' | 'file'> => ({
  source: nameFile(file),
  ...(file === '-' ? {} : { file }),
});
/** Documents as an export writes them: they may be many, and of any size. */
const exportedIn = (file: string, text: string): Document[] | undefined =>
  plainDocuments(text)?.map((one, index, all) => ({
    ...namesOf(file),
    value: one.value,
    index,
    isOnly: all.length === 1,
    placeOf: placesIn(one.text)(0, one.before),
    shown: noShownTexts,
  }));
/** `why` follows the name of the file. */
export const tooLarge = (file: string, why: string): AppError =>
  new AppError('usage', `${nameFile(file)} ${why}; no request was sent`, {
    code: 'YAML_TOO_LARGE',
    tryThis: [
      'put each label into a separate file, and pass the directory',
      'write it as `opsctl labels export` does (block style, no comments between the lines): such files may have any size',
    ],
  });
/** Git left both sides of a merge in the file: only a person knows which is meant. */
const refuseConflict = (file: string, text: string): void => {
  const at = text.split('\n').findIndex((line) => /^<{7}( |$)/.test(line));
  if (at < 0) return;
  const wrong = problem(
    '--file',
    'rule',
    'has the conflict markers of a merge',
    'choose a side, then run again',
  );
  throw new AppError('usage', `${nameFile(file)}:${at + 1} has a merge conflict; no request was sent`, {
    code: 'MERGE_CONFLICT',
    problems: [{ ...wrong, file: nameFile(file), line: at + 1, column: 1 }],
  });
};
const makeFaultError = (file: string, source: string, error: YamlFault): AppError => {
  const [place] = error.linePos ?? [];
  const ofField = fieldProblem(error);
  const wrong = ofField ?? problem('--file', 'type', 'must contain valid YAML or JSON');
  const [cause = ''] = error.message.split('\n');
  return new AppError('usage', `${source} ${faultPhrase(error)}: ${cause.replace(/:$/, '')}`, {
    ...(ofField === undefined ? { code: 'NOT_YAML' } : {}),
    problems: [{ ...wrong, file: nameFile(file), line: place?.line ?? 1, column: place?.col ?? 1 }],
  });
};
export const documentsIn = (file: string, text: string): Document[] => {
  const exported = exportedIn(file, text);
  if (exported !== undefined) return exported;
  refuseConflict(file, text);
  const why = tooLargeYaml(text);
  if (why !== undefined) throw tooLarge(file, why);
  const found = parseAllDocuments(text);
  const placeAt = placesIn(text);
  const documents = found.flatMap((document, i): Omit<Document, 'isOnly' | 'index'>[] => {
    const source = found.length > 1 ? `${nameFile(file)} (document ${i + 1})` : nameFile(file);
    const [error] = document.errors;
    if (error) throw makeFaultError(file, source, error);
    const parsed = yamlValue(document);
    if ('problem' in parsed)
      throw new AppError('usage', `${source} is not YAML: ${parsed.problem}`, { code: 'NOT_YAML' });
    const { value } = parsed;
    if (value === null || value === undefined) return [];
    return [
      {
        ...namesOf(file),
        value,
        placeOf: placeAt(i),
        shown: shownTexts(document.contents),
        unclear: unclearValues(
          document.contents,
          text,
          'write [] or null to remove what the service has, or remove the key to leave it unchanged',
        ),
      },
    ];
  });
  return documents.map((document, index) => ({ ...document, index, isOnly: documents.length === 1 }));
};
/** A file that its program did not finish looks the same, so it never means "no labels". */
const makeNoDocumentError = (names: string, rule: string, remedies: readonly string[]): AppError =>
  usageError(
    `${names}: the file has no content, or only comments; no request was sent`,
    [problem('--file', 'rule', rule)],
    remedies,
  );
/** Every document of the files in order. A directory means the YAML and JSON files in it. */
export const readDocuments = async (
  context: EngineContext,
  files: readonly string[],
): Promise<Document[]> => {
  const documents: Document[] = [];
  for (const given of files)
    for (const file of await filesIn(context, given)) {
      const found = documentsIn(file, await textOf(context, file));
      for (const one of found) documents.push(file === given ? one : { ...one, isInDirectory: true });
    }
  if (documents.length === 0)
    throw makeNoDocumentError(
      files.map(nameFile).join(', '),
      'must contain at least one label definition, such as title: Confidential',
      ['opsctl labels export writes such a file', 'write [] if the file contains no label'],
    );
  return documents;
};
/** The one document of a file whose text was read already. */
export const readSingleDocument = (file: string, text: string): Document => {
  const [document, second] = documentsIn(file, text);
  if (document === undefined)
    throw makeNoDocumentError(nameFile(file), 'must contain a value', [
      'write the value that the file should have: {} is an empty map, [] is an empty list',
    ]);
  if (second)
    throw usageError(`${nameFile(file)} has several documents; one is needed`, [
      problem('--file', 'rule', 'must have one document'),
    ]);
  return document;
};

const badgeIn = (value: Plain, path: string, reader: Reader): Badge | null | undefined => {
  const given = value.badge;
  if (given === undefined || given === null) return given;
  const where = at(path, 'badge');
  const badge = typeof given === 'string' ? { color: given } : given;
  if (!isPlain(badge)) {
    reader.problems.push(problem(where, 'type', 'must be a color such as #1a2b3c or {color, priority}'));
    return undefined;
  }
  refuseUnknown(badge, badgeMembers, where, reader);
  const color = textIn(badge, 'color', where, reader)?.toLowerCase();
  const priority = textIn(badge, 'priority', where, reader);
  if (color !== undefined && !isHex(color))
    reader.problems.push(
      problem(at(where, 'color'), 'format', `must be a color such as #1a2b3c; got ${color}`),
    );
  if (priority !== undefined && !/^-?\d+$/.test(priority))
    reader.problems.push(problem(at(where, 'priority'), 'format', 'must be a whole number'));
  return badgeWith(color, priority) ?? null;
};
const identityIn = (value: Plain, path: string, reader: Reader) => ({
  key: textIn(value, 'key', path, reader),
  id: textIn(value, 'id', path, reader),
  was: textIn(value, 'was', path, reader),
});
const choiceIn = (value: Plain, path: string, reader: Reader): ChoiceDef => {
  refuseUnknown(value, choiceMembers, path, reader);
  const identity = identityIn(value, path, reader);
  if (identity.id !== undefined && !/^[A-Za-z0-9_]+$/.test(identity.id))
    reader.problems.push(
      problem(
        at(path, 'id'),
        'format',
        `must consist of letters, digits and _; got ${identity.id}`,
        'or leave it out',
      ),
    );
  return present({
    ...identity,
    name: neededText(value, 'name', path, reader),
    description: textOrNone(value, 'description', path, reader),
    badge: badgeIn(value, path, reader),
    disabled: disabledIn(value, path, reader),
  });
};
const kindIn = (value: Plain, path: string, reader: Reader): FieldKind => {
  const text = textIn(value, 'type', path, reader) ?? (value.choices === undefined ? undefined : 'selection');
  const kind = fieldKinds.find((known) => known === text);
  if (kind === undefined)
    reader.problems.push(
      problem(at(path, 'type'), 'enum', `must be one of ${fieldKinds.join(', ')}; got ${text ?? 'nothing'}`),
    );
  else
    for (const [key, { only }] of Object.entries(fieldMembers))
      if (value[key] !== undefined && only !== undefined && !only.includes(kind))
        reader.problems.push(
          problem(
            at(path, key),
            'rule',
            `belongs to ${only.join(' and ')} fields, but the type of this field is ${kind}`,
          ),
        );
  return kind ?? 'text';
};
const entriesLimit = (value: Plain, path: string, { problems }: Reader): number | null | undefined => {
  const given = value.maxEntries;
  if (given === undefined || given === null) return given;
  if (typeof given === 'number' && Number.isSafeInteger(given) && given >= 0) return given;
  problems.push(problem(at(path, 'maxEntries'), 'type', 'must be a whole number from 0 to 9007199254740991'));
  return undefined;
};
const dateFormats: Readonly<Record<string, string>> = {
  short: 'SHORT_DATE',
  long: 'LONG_DATE',
  SHORT_DATE: 'SHORT_DATE',
  LONG_DATE: 'LONG_DATE',
};
const dateFormatIn = (value: Plain, path: string, reader: Reader): string | undefined => {
  const text = textIn(value, 'dateFormat', path, reader);
  if (text !== undefined && dateFormats[text] === undefined)
    reader.problems.push(problem(at(path, 'dateFormat'), 'enum', 'must be SHORT_DATE or LONG_DATE'));
  return text === undefined ? undefined : dateFormats[text];
};
/** A part that is protected cannot be disabled by the same file. */
const refuseContradiction = (value: Plain, isDisabled: boolean, path: string, reader: Reader): void => {
  if (value.protect !== true || !isDisabled) return;
  const hint = 'write protect: false to allow it';
  reader.problems.push(
    problem(at(path, 'protect'), 'rule', 'is true, but the file disables this part', hint),
  );
};
export const fieldIn = (value: Plain, path: string, reader: Reader): FieldDef => {
  refuseUnknown(value, fieldMembers, path, reader);
  refuseContradiction(value, value.disabled === true || isPlain(value.disabled), path, reader);
  return present({
    protect: flagIn(value, 'protect', path, reader),
    ...identityIn(value, path, reader),
    name: neededText(value, 'name', path, reader),
    type: kindIn(value, path, reader),
    required: flagIn(value, 'required', path, reader),
    maxEntries: entriesLimit(value, path, reader),
    dateFormat: dateFormatIn(value, path, reader),
    choices: entriesIn(value, 'choices', path, reader)?.map((choice, i) =>
      choiceIn(choice, `${at(path, 'choices')}[${i}]`, reader),
    ),
    disabled: disabledIn(value, path, reader),
  });
};

type Named = { readonly key?: string; readonly id?: string; readonly name: string };
/** Entries with IDs may share a name. Entries without IDs may not. */
const refuseRepeated = (parts: readonly Named[], path: string, { problems }: Reader): void => {
  const refuse = (i: number, member: string, what: string, hint?: string): void =>
    void problems.push(problem(`${path}[${i}].${member}`, 'rule', what, hint));
  for (const [i, { name, id, key }] of parts.entries()) {
    const before = parts.slice(0, i);
    if (id !== undefined && before.some((other) => other.id === id))
      refuse(i, 'id', `repeats the id "${id}"`);
    if (key !== undefined && before.some((other) => other.key === key))
      refuse(i, 'key', `repeats the key "${key}"`);
    const hasTwin = before.some(
      (other) => other.name === name && (other.id === undefined || id === undefined),
    );
    if (name !== '' && hasTwin)
      refuse(i, 'name', `repeats the name "${name}"`, 'names or IDs identify the entries');
  }
};
const appsIn = (value: Plain, { problems }: Reader): readonly string[] | undefined => {
  const given = value.enabledApps;
  if (given === undefined) return undefined;
  if (given === null) return [];
  if (Array.isArray(given) && given.every((app) => typeof app === 'string')) return given;
  problems.push(problem('enabledApps', 'type', 'must be a list of app names, for example [FILES, MAIL]'));
  return undefined;
};
const stateIn = (value: Plain, reader: Reader): Pick<LabelDef, 'state' | 'disabledPolicy'> => {
  const state = oneOfIn(value, 'state', definedStates, '', reader);
  const policy = value.disabledPolicy;
  if (policy !== undefined && policy !== null && state !== 'disabled')
    reader.problems.push(problem('disabledPolicy', 'rule', 'belongs to `state: disabled`'));
  if (policy !== undefined && policy !== null && !isPlain(policy))
    reader.problems.push(problem('disabledPolicy', 'type', 'must be {hideInSearch, showInApply}'));
  return {
    state,
    disabledPolicy: isPlain(policy) ? policyIn(policy, 'disabledPolicy', reader) : undefined,
  };
};
/** The service's own JSON (`labels get --view LABEL_VIEW_FULL -o yaml`) is also accepted. */
const isWire = (value: Plain): boolean => isPlain(value.properties);
/** Keys that this JSON does not contain stay unchanged in the service. */
const fromWire = (json: LabelJson): LabelDef => {
  const live = liveFrom(json);
  const { type, state, disabledPolicy, description, enabledApps, copyMode, fields, ...rest } =
    definitionOf(live);
  return present({
    ...rest,
    ...(live.revisionId === '' ? {} : { revision: live.revisionId }),
    type: type === '' ? undefined : type,
    description:
      json.properties?.description === undefined && json.lifecycle === undefined ? undefined : description,
    copyMode: json.appliedLabelPolicy === undefined ? undefined : copyMode,
    enabledApps: json.enabledAppSettings === undefined ? undefined : enabledApps,
    fields: json.fields === undefined && json.lifecycle === undefined ? undefined : fields,
  });
};
const fieldsIn = (value: Plain, reader: Reader): LabelDef['fields'] => {
  const fields = entriesIn(value, 'fields', '', reader)?.map((field, i) =>
    fieldIn(field, `fields[${i}]`, reader),
  );
  refuseRepeated(fields ?? [], 'fields', reader);
  for (const [i, field] of (fields ?? []).entries())
    refuseRepeated(field.choices ?? [], `fields[${i}].choices`, reader);
  return fields;
};
const permissionsIn = (value: Plain, reader: Reader): LabelDef['permissions'] => {
  const permissions = entriesIn(value, 'permissions', '', reader)?.map((one, i) =>
    permissionIn(one, `permissions[${i}]`, reader.problems),
  );
  for (const one of repeatedPermissions(permissions ?? [], (i) => `permissions[${i}]`))
    reader.problems.push(one);
  return permissions;
};
/** The value of one YAML document as a definition, and everything that is wrong with it. Pure. */
export const definitionFrom = (
  value: unknown,
  shown: ShownTexts = noShownTexts,
): { readonly definition: LabelDef; readonly problems: readonly Problem[] } => {
  const reader: Reader = { problems: [], shown };
  if (!isPlain(value))
    return {
      definition: { title: '' },
      problems: [problem('', 'type', 'must be a label: title, type, fields')],
    };
  if (isWire(value)) return { definition: fromWire(value as LabelJson), problems: [] };
  refuseUnknown(value, labelMembers, '', reader);
  refuseContradiction(value, value.state === 'disabled', '', reader);
  const definition: LabelDef = present({
    key: textIn(value, 'key', '', reader),
    id: textIn(value, 'id', '', reader),
    was: textIn(value, 'was', '', reader),
    revision: textIn(value, 'revision', '', reader),
    title: neededText(value, 'title', '', reader),
    type: textIn(value, 'type', '', reader),
    description: textOrNone(value, 'description', '', reader),
    learnMoreUri: textIn(value, 'learnMoreUri', '', reader),
    ...stateIn(value, reader),
    copyMode: oneOfIn(value, 'copyMode', copyModes, '', reader),
    enabledApps: appsIn(value, reader),
    permissions: permissionsIn(value, reader),
    protect: flagIn(value, 'protect', '', reader),
    fields: fieldsIn(value, reader),
  });
  return { definition, problems: reader.problems };
};
