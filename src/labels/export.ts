import type { Context } from '../cli/command.ts';
import { AppError } from '../core/problem.ts';
import type { LabelJson } from './api-types.ts';
import type { LabelDef, LiveLabel } from './definition.ts';
import { fileFrom } from './export-file.ts';
import { definitionOf, liveFrom } from './from-label.ts';
import { type Asking, allDefinitions, allPermissions, getDefinition } from './read-labels.ts';
import { withLabel } from './resolve-label.ts';
import { schemaLine } from './schema.ts';
import { yamlText } from '../core/yaml-text.ts';

/** A label that is read for export: its definition, and what the comment above it says. */
export type Exported = { readonly json: LabelJson; readonly live: LiveLabel; readonly definition: LabelDef };

export type ExportOptions = Asking & {
  readonly all: boolean;
  readonly published: boolean;
  readonly permissions: boolean;
};

/** A label that is there without a published revision is not one that is not there. */
const publishedOf = async (context: Context, name: string, asking: Asking): Promise<LabelJson> => {
  try {
    return await getDefinition(context, `${name}@published`, asking);
  } catch (error) {
    if (!(error instanceof AppError) || error.category !== 'not-found') throw error;
    const { properties } = await getDefinition(context, name, asking);
    throw new AppError('not-found', `label ${properties?.title ?? name} was never published`, {
      code: 'NEVER_PUBLISHED',
      tryThis: [`opsctl labels export ${name}`, `opsctl labels publish ${name}`],
    });
  }
};

async function* chosen(
  context: Context,
  typed: readonly string[],
  options: ExportOptions,
): AsyncGenerator<LabelJson> {
  if (options.all) {
    yield* allDefinitions(context, options, { publishedOnly: options.published });
    return;
  }
  for (const one of typed) {
    yield await withLabel(context, one, options, (name) =>
      options.published && !name.includes('@')
        ? publishedOf(context, name, options)
        : getDefinition(context, name, options),
    );
  }
}

/** A label of the provider is read only: a file of it could not be applied. */
const isOwn = ({ labelType }: LabelJson): boolean => labelType === 'SHARED' || labelType === 'ADMIN';

const withPermissions = async (
  context: Context,
  live: LiveLabel,
  options: ExportOptions,
): Promise<Pick<LabelDef, 'permissions'>> => {
  if (!options.permissions) return {};
  const permissions = await allPermissions(context, `labels/${live.id}`, options);
  return { permissions: permissions.map(({ name: _, ...one }) => ({ ...one, role: one.role ?? '' })) };
};

/** The labels that were asked for, as they come. */
export async function* exported(
  context: Context,
  typed: readonly string[],
  options: ExportOptions,
): AsyncGenerator<Exported> {
  for await (const json of chosen(context, typed, options)) {
    if (!isOwn(json)) {
      context.log.warn(
        `${json.properties?.title} (labels/${json.id}) is left out: it is a ${json.labelType} label, which cannot be applied`,
      );
      continue;
    }
    const live = liveFrom(json);
    const definition = { ...definitionOf(live), ...(await withPermissions(context, live, options)) };
    yield { json, live, definition };
  }
}

const comment = ({ json, live }: Exported): string => {
  const { state = '', hasUnpublishedChanges = false } = json.lifecycle ?? {};
  const pending = hasUnpublishedChanges ? ' with unpublished changes' : '';
  return `# ${json.name}, revision ${live.revisionId}, ${state.toLowerCase().replaceAll('_', ' ')}${pending}\n`;
};

/** A definition as one YAML document. */
export const documentText = (one: Exported): string => comment(one) + yamlText(fileFrom(one.definition));

/** The same as a file of its own, with the line by which editors find the schema. */
export const fileText = (one: Exported): string => schemaLine + documentText(one);
