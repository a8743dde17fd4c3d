import { resolve } from 'node:path';
import type { EngineContext, Runtime } from '../../api/context.ts';
import { jsonFile, textFile } from '../../api/input.ts';
import { check, hiddenTextProblems } from '../../core/check.ts';
import { bare, type Field, list, obj } from '../../core/field.ts';
import { momentOf } from '../../core/format.ts';
import { next } from '../../core/next.ts';
import { cutText, AppError, type Problem, problem, reword, usageError } from '../../core/problem.ts';
import type { CheckFinding } from '../../core/result.ts';
import { misfit } from '../../core/shape.ts';
import { shellWord } from '../../core/shell.ts';
import { escapeMarkdown, nearest, refuseForeignText } from '../../core/text.ts';
import {
  inWordsOfFile,
  noShownTexts,
  type ShownTexts,
  shownTexts,
  unclearValues,
} from '../../core/yaml-scalars.ts';
import {
  causeWithoutPlace,
  fieldProblem,
  findPair,
  plainYaml,
  tooLargeYaml,
  yamlValue,
} from '../../core/yaml.ts';
import { trackerNames } from '../names/name-resolution.ts';
import { readWorkflows, stateTexts } from '../stories.ts';
import { kindNames, type Row, type Workspace, workspaceKinds } from './kinds.ts';
import { type Action, type Plan, type PlanOptions, planWorkspace } from './plan.ts';
import { type LaterPlan, readCurrent } from './read.ts';

/** Lists of members. The file may contain their names, so that one file fits several workspaces. */
const members: Readonly<Record<string, string>> = { groups: 'member_ids', epics: 'owner_ids' };
const idsOf = async (context: EngineContext, names: readonly unknown[], path: string): Promise<unknown[]> => {
  const ids: unknown[] = [];
  for (const [i, name] of names.entries())
    ids.push(await trackerNames.resolve(context, 'member', String(name), `${path}[${i}]`));
  return ids;
};
type StateTexts = ReturnType<typeof stateTexts>;
/** The one text that the file has for a state. A state whose names other states have as well is written as its ID. */
const stateText = async (
  context: EngineContext,
  states: StateTexts,
  text: string,
  path: string,
): Promise<string> => {
  const isOnlyId = states.get(Number(text)) === text;
  const id = await trackerNames.resolve(context, 'workflow-state', isOnlyId ? text : `name:${text}`, path);
  return states.get(id) ?? text;
};
/** The keys of a template's contents: those of the story and those of its tasks. */
const withStoryMembers = async (
  context: EngineContext,
  entry: Row,
  path: string,
  states: StateTexts,
): Promise<Row> => {
  const story = { ...(entry.story as Record<string, unknown>) };
  for (const field of ['owner_ids', 'follower_ids'])
    if (Array.isArray(story[field]))
      story[field] = await idsOf(context, story[field] as unknown[], `${path}.${field}`);
  if (typeof story.state === 'string')
    story.state = await stateText(context, states, story.state, `${path}.state`);
  if (Array.isArray(story.tasks)) {
    const tasks: Row[] = [];
    for (const [i, task] of (story.tasks as Row[]).entries())
      tasks.push(
        Array.isArray(task.owner_ids)
          ? { ...task, owner_ids: await idsOf(context, task.owner_ids, `${path}.tasks[${i}].owner_ids`) }
          : task,
      );
    story.tasks = tasks;
  }
  return { ...entry, story };
};
/** A state that the workflow does not have is found before anything is planned. */
const checkState = async (context: EngineContext, entry: Row, path: string): Promise<void> => {
  if (typeof entry.state === 'string')
    await trackerNames.resolve(context, 'epic-state', `name:${entry.state}`, path);
};
const withNames = async (context: EngineContext, templates: readonly Row[]): Promise<Row[]> => {
  const hasStates = templates.some(({ story }) => (story as Row | undefined)?.state !== undefined);
  const states = hasStates ? stateTexts(await readWorkflows(context)) : new Map<unknown, string>();
  const out: Row[] = [];
  for (const [i, entry] of templates.entries())
    out.push(await withStoryMembers(context, entry, `entity_templates[${i}].story`, states));
  return out;
};
const withMemberIds = async (context: EngineContext, workspace: Workspace): Promise<Workspace> => {
  const out: Record<string, readonly Row[] | undefined> = { ...workspace };
  for (const [kind, field] of Object.entries(members)) {
    const entries = workspace[kind];
    if (entries === undefined) continue;
    const known: Row[] = [];
    for (const [i, entry] of entries.entries()) {
      const names = entry[field];
      if (kind === 'epics') await checkState(context, entry, `epics[${i}].state`);
      known.push(
        Array.isArray(names)
          ? { ...entry, [field]: await idsOf(context, names, `${kind}[${i}].${field}`) }
          : entry,
      );
    }
    out[kind] = known;
  }
  const { entity_templates: templates } = workspace;
  return templates === undefined ? out : { ...out, entity_templates: await withNames(context, templates) };
};

const problemsOf = (file: Row): Problem[] =>
  Object.entries(file).flatMap(([key, value]) => {
    const kind = workspaceKinds[key];
    if (key.startsWith('x-')) return [];
    if (key === 'version') return value === 1 ? [] : [problem('version', 'enum', 'must be 1')];
    if (kind === undefined) {
      const close = nearest(key, kindNames);
      return [
        problem(
          key,
          'unknown',
          `is not a list of a workspace; known: ${kindNames.join(', ')}`,
          close && `did you mean ${close}?`,
        ),
      ];
    }
    if (value === null)
      return [
        problem(
          key,
          'null',
          'has no value',
          `write \`${key}: []\` for an empty list, or remove the key to leave the list unchanged`,
        ),
      ];
    return [...check(list(obj(kind.fields)), value, key), ...hiddenTextProblems(value, key)];
  });
/** A number that reads like its source is text where text is expected: `name: 42`. */
const asText = (field: Field | undefined, value: unknown, path: string, shown: ShownTexts): unknown => {
  if (field === undefined) return value;
  const inner = bare(field);
  if (inner.type === 'array' && Array.isArray(value))
    return value.map((item, i) => asText(inner.items, item, `${path}[${i}]`, shown));
  if (inner.type === 'string' && inner.format === 'datetime' && typeof value === 'string')
    return momentOf(value);
  return inner.type === 'string' && typeof value === 'number' && !shown.has(path) ? String(value) : value;
};
/** `description: null` is an empty text. It stays null only if null has a specific meaning. */
const fillEmptyTexts = (file: Row, shown: ShownTexts): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(file).map(([key, entries]) => {
      const fields = workspaceKinds[key]?.fields;
      if (fields === undefined || !Array.isArray(entries)) return [key, entries];
      const isEmpty = (name: string, value: unknown) =>
        value === null && fields[name]?.nullable !== true && fields[name]?.type === 'string';
      const clean = (entry: Row, path: string) =>
        Object.fromEntries(
          Object.entries(entry).map(([name, value]) => [
            name,
            isEmpty(name, value) ? '' : asText(fields[name], value, `${path}.${name}`, shown),
          ]),
        );
      return [
        key,
        entries.map((entry: unknown, i) =>
          typeof entry === 'object' && entry !== null && !Array.isArray(entry)
            ? clean(entry as Row, `${key}[${i}]`)
            : entry,
        ),
      ];
    }),
  );
type Yaml = typeof import('../../platform/yaml.ts');
/** The line of the deepest part of a path that exists in the file. */
/** Keys of people can contain dots, so a list of keys is not split. */
const stepsOf = (path: string | readonly string[]): readonly string[] =>
  typeof path === 'string' ? path.split(/[.[\]]+/).filter((part) => part !== '') : path;
const locator =
  ({ isMap, isNode, isSeq }: Yaml, root: unknown, lines: InstanceType<Yaml['LineCounter']>) =>
  (path: string | readonly string[]): number | undefined => {
    let at = root;
    for (const step of stepsOf(path)) {
      const next: unknown = isMap(at)
        ? findPair(at.items, step)?.value
        : isSeq(at)
          ? at.items[Number(step)]
          : undefined;
      if (!isNode(next)) break;
      at = next;
    }
    return isNode(at) && at.range ? lines.linePos(at.range[0]).line : undefined;
  };
type Read = {
  readonly value: unknown;
  readonly lineOf: (path: string | readonly string[]) => number | undefined;
  readonly shown: ShownTexts;
  readonly unclear: readonly Problem[];
  /** The node of the value, which has the types of its scalars. */
  readonly contents: unknown;
};
const tooLarge = (given: string, why: string): AppError =>
  new AppError('usage', `${given} ${why}; no request was sent`, {
    code: 'YAML_TOO_LARGE',
    tryThis: [
      'put the lists into separate files and apply one after the other (opsctl tracker export --only epics)',
      'write it as `opsctl tracker export` does (block style, no comments between the lines): such files may have any size',
    ],
  });
/** The value of a YAML or JSON text from a file, with the lines of its parts. */
export const readYaml = async (
  given: string,
  text: string,
  options: { readonly mayHaveNul?: boolean } = {},
): Promise<Read> => {
  refuseForeignText(text, given);
  const why = tooLargeYaml(text);
  if (why !== undefined) throw tooLarge(given, why);
  const yaml = await import('../../platform/yaml.ts');
  const lines = new yaml.LineCounter();
  const document = yaml.parseDocument(text, lines, options);
  if (document.errors.length > 0)
    throw usageError(
      `${given} ${document.errors.every((error) => fieldProblem(error) !== undefined) ? 'is invalid' : 'is not YAML'}`,
      document.errors.map((error) => ({
        ...(fieldProblem(error) ?? problem('', 'format', causeWithoutPlace(error.message))),
        file: given,
        ...(error.linePos === undefined ? {} : { line: error.linePos[0].line }),
      })),
    );
  const parsed = yamlValue(document);
  if ('problem' in parsed) throw usageError(`${given} is not YAML: ${parsed.problem}`);
  const { contents } = document;
  const lineOf = locator(yaml, contents, lines);
  return {
    value: parsed.value,
    lineOf,
    shown: shownTexts(contents),
    unclear: unclearValues(contents, text),
    contents,
  };
};
/** An export has no lines until something in it is wrong. */
const linesOf = async (given: string, text: string): Promise<Read['lineOf']> =>
  tooLargeYaml(text) === undefined ? (await readYaml(given, text)).lineOf : () => undefined;
const refuseOtherShape = (given: string, read: unknown): never => {
  const file = given === '-' ? 'standard input' : given;
  const isEmpty = read === null || read === undefined;
  const what = isEmpty ? 'has no content, or only comments' : 'is not a set of lists by name';
  const lists = problem('--file', 'rule', `must be a map of lists: ${kindNames.join(', ')}`);
  throw usageError(
    `${file} ${what}; no changes were made`,
    [lists],
    ['opsctl tracker export writes such a file', 'write {} if the file contains no list'],
  );
};
type Placed = {
  readonly workspace: Workspace;
  /** The error with the file and the line of each problem. */
  readonly place: (error: unknown) => Promise<unknown>;
};
/** The problems with the file and the line of each. */
const placeIn = (file: string, problems: readonly Problem[], lineOf: Read['lineOf']): Problem[] =>
  problems.map((found) => {
    const line = lineOf(found.path);
    return { ...found, file, ...(line === undefined ? {} : { line }) };
  });
/** All problems of a file in its words. An empty list is reported once. */
const problemsInWords = (file: Row, shown: ShownTexts, unclear: readonly Problem[]): Problem[] => {
  const known = problemsOf(file);
  const more = unclear.filter(
    ({ path }) => !path.startsWith('x-') && known.every((one) => one.path !== path),
  );
  return [...inWordsOfFile(known, shown), ...more];
};
/**
 * Reads and checks a workspace file (YAML or JSON). Reports all problems with their positions in the file.
 */
export const readWorkspace = async (context: EngineContext, given: string): Promise<Placed> => {
  const text = await textFile(context, given, '--file');
  const plain = plainYaml(text);
  const {
    value: read,
    lineOf,
    shown,
    unclear,
  } = plain === undefined
    ? await readYaml(given, text)
    : { ...plain, lineOf: undefined, shown: noShownTexts, unclear: [] };
  if (typeof read !== 'object' || read === null || Array.isArray(read)) return refuseOtherShape(given, read);
  const file = fillEmptyTexts(read as Row, shown);
  const problems = problemsInWords(file, shown, unclear);
  if (problems.length > 0) {
    const lineOfProblem = lineOf ?? (await linesOf(given, text));
    throw usageError(`${given} is not a workspace file`, placeIn(given, problems, lineOfProblem));
  }
  const workspace = Object.fromEntries(
    Object.entries(file)
      .filter(([key]) => key !== 'version' && !key.startsWith('x-'))
      .map(([key, value]) => [key, (value ?? []) as Row[]]),
  );
  const place = async (error: unknown): Promise<unknown> => {
    if (!(error instanceof AppError) || error.detail.problems === undefined) return error;
    const lineOfProblem = lineOf ?? (await linesOf(given, text));
    return reword(error, {
      ...error.detail,
      problems: placeIn(given, error.detail.problems, lineOfProblem),
    });
  };
  return { workspace, place };
};

/** A plan, and the same input planned from the state of the workspace at a later time. */
type Planned = {
  readonly plan: Plan;
  readonly workspace: Workspace;
  readonly planAgain: () => Promise<LaterPlan>;
};
const planNow = async (
  context: EngineContext,
  workspace: Workspace,
  options: PlanOptions,
): Promise<LaterPlan> => {
  const { current, lookup } = await readCurrent(context, Object.keys(workspace));
  return { plan: planWorkspace(workspace, current, lookup, options), current };
};
/** Reads the file and the current workspace, and computes the plan. */
export const planFromFile = async (
  context: EngineContext,
  file: string,
  options: PlanOptions,
): Promise<Planned> => {
  const { workspace: read, place } = await readWorkspace(context, file);
  const refusePlaced = async (error: unknown): Promise<never> => {
    throw await place(error);
  };
  const workspace = await withMemberIds(context, read).catch(refusePlaced);
  const { plan, current } = await planNow(context, workspace, options).catch(refusePlaced);
  await warnOfArchived(context, workspace, plan, current.labels);
  return { plan, workspace, planAgain: () => planNow(context, workspace, options) };
};
/** Names of labels that changed records of a plan get. */
const labelsInPlan = ({ actions }: Plan): Set<string> =>
  new Set(
    actions.flatMap(({ kind, changes }) => {
      const labels = kind === 'epics' || kind === 'iterations' ? changes.labels?.to : undefined;
      return Array.isArray(labels) ? labels.map(String) : [];
    }),
  );
/** An archived label is still attached, with a warning, because lists do not show it. */
const warnOfArchived = async (
  context: EngineContext,
  workspace: Workspace,
  plan: Plan,
  known: readonly Row[] | undefined,
): Promise<void> => {
  const names = labelsInPlan(plan);
  if (names.size === 0) return;
  const revived = new Set(
    (workspace.labels ?? []).filter((one) => one.archived === false).map(({ name }) => name),
  );
  const labels = known ?? (await readCurrent(context, ['labels'])).current.labels ?? [];
  for (const { name, archived } of labels)
    if (archived === true && names.has(String(name)) && !revived.has(name))
      context.log.warn(`label ${JSON.stringify(name)} is archived; the plan attaches it anyway`);
};

/** Each difference is a failure at its line of the file. */
export const planFindings = ({ actions, refused, kept }: Plan, path: string): CheckFinding[] => {
  const file = path === '-' ? {} : { file: path };
  const found = [
    ...actions.map(({ action, kind, name }) => ({
      ...{ rule: 'difference', level: 'fail' as const, subject: `${kind} ${name}` },
      ...{ message: `${action} ${kind} ${name}`, ...file },
    })),
    ...refused.map((one) => ({
      ...{ rule: 'refused', level: 'fail' as const, message: `${one.path} ${one.message}`, ...file },
      ...(one.line === undefined ? {} : { line: one.line }),
    })),
  ];
  if (found.length > 0) return found;
  return [{ rule: 'difference', level: 'pass', message: `${kept} records match the file`, ...file }];
};

const cell = (value: unknown): string => {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return escapeMarkdown(cutText(text.replace(/\s+/g, ' ').trim(), 60));
};
/** The plan as a comment on a pull request. */
export const planMarkdown = (plan: Plan): string => {
  const count = `**${plan.actions.length} to change**, ${plan.kept} match the file`;
  const refused = plan.refused.map(({ path, message }) => `- refused: ${cell(path)} ${cell(message)}`);
  if (plan.actions.length === 0) return `${[count, ...refused].join('\n')}\n`;
  const rows = plan.actions.map(({ action, kind, name, changes }) => {
    const fields = Object.entries(changes).map(([field, { from, to }]) =>
      action === 'update' ? `${cell(field)}: ${cell(from)} → ${cell(to)}` : cell(field),
    );
    return `| ${action} | ${kind} | ${cell(name)} | ${fields.join('<br>')} |`;
  });
  return `${[count, '', '| action | list | name | fields |', '|---|---|---|---|', ...rows, ...refused].join('\n')}\n`;
};

/** A plan as a file: the input, and the changes at the time of the review. */
export type SavedPlan = {
  readonly version: 1;
  /** The file of the input as the user named it. Plans of earlier versions do not have it. */
  readonly file?: string;
  readonly workspace: Workspace;
  readonly options: PlanOptions;
  readonly actions: readonly Action[];
};
const absolute = ({ host }: Runtime, path: string): string => resolve(host.cwd, path);
export const savePlan = async (context: EngineContext, path: string, saved: SavedPlan): Promise<void> => {
  await context.host.files.replace(absolute(context, path), `${JSON.stringify(saved, null, 2)}\n`, 0o600);
};
const readPlan = async (context: EngineContext, path: string): Promise<SavedPlan> => {
  const saved = (await jsonFile(context, path, '--plan')) as Partial<SavedPlan> | null;
  if (
    saved?.version !== 1 ||
    misfit(saved, { workspace: 'record', options: 'record', actions: ['record'] }) !== undefined ||
    Object.values(saved.workspace ?? {}).some((rows) => misfit(rows, ['record']) !== undefined)
  )
    throw usageError(`${path} is not a plan of \`opsctl tracker diff --out\``, [
      { ...problem('--plan', 'format', `names ${path}, which is not a plan`), file: path, line: 1 },
    ]);
  return saved as SavedPlan;
};
const isSamePlan = (one: readonly Action[], other: readonly Action[]): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
/** Plans again from the current state. Only the reviewed plan may be applied. */
export const planAsSaved = async (context: EngineContext, path: string): Promise<Planned> => {
  const { workspace, options, actions, file = 'FILE' } = await readPlan(context, path);
  const planAgain = () => planNow(context, workspace, options);
  const { plan } = await planAgain();
  if (isSamePlan(plan.actions, actions)) return { plan, workspace, planAgain };
  const flags = (['prune', 'force'] as const).flatMap((name) => (options[name] ? [`--${name}`] : []));
  throw new AppError('unsafe', `the workspace has changed since ${path} was created; no changes were made`, {
    code: 'PLAN_OUTDATED',
    tryThis: [next(['tracker', 'diff', '-f', shellWord(file), ...flags, '--out', shellWord(path)])],
  });
};
/** The user may take a while to confirm a plan, and must see the one that is applied. */
export const refuseOtherPlan = async ({ plan, planAgain }: Planned): Promise<void> => {
  const { plan: latest } = await planAgain();
  if (isSamePlan(latest.actions, plan.actions) && latest.refused.length === 0) return;
  throw new AppError('unsafe', 'the workspace changed before you confirmed the plan; no changes were made', {
    code: 'PLAN_OUTDATED',
    tryThis: ['run the same command again to see the new plan'],
  });
};
