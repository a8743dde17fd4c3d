import type { Resource } from '../../core/operation.ts';
import type { trackerExtension } from '../../api-specs/tracker/extension.ts';
import { trackerInfo } from '../../api-specs/tracker/info.ts';
import { type Command, withWatch } from '../../cli/command.ts';
import { flagName } from '../../core/flag.ts';
import { commandFrom } from '../../cli/derived/command.ts';
import { trackerNames } from '../../tracker/names/name-resolution.ts';
import { byHand, withEditor, withUndo, withWeb } from './extensions.ts';

/** The rows of one resource, without loading those of the others: a start of the program needs one of a hundred. */
const rows: Readonly<Record<string, () => Promise<Resource>>> = {
  categories: async () => (await import('../../api-specs/tracker/labels.ts')).categories,
  'custom-fields': async () => (await import('../../api-specs/tracker/workspace.ts')).customFields,
  documents: async () => (await import('../../api-specs/tracker/files.ts')).documents,
  'entity-templates': async () => (await import('../../api-specs/tracker/workspace.ts')).entityTemplates,
  'epic-workflow': async () => (await import('../../api-specs/tracker/workspace.ts')).epicWorkflow,
  epics: async () => (await import('../../api-specs/tracker/epics.ts')).epics,
  'epic-comments': async () => (await import('../../api-specs/tracker/epics.ts')).epicComments,
  health: async () => (await import('../../api-specs/tracker/epics.ts')).health,
  files: async () => (await import('../../api-specs/tracker/files.ts')).files,
  'linked-files': async () => (await import('../../api-specs/tracker/files.ts')).linkedFiles,
  'external-links': async () => (await import('../../api-specs/tracker/workspace.ts')).externalLinks,
  groups: async () => (await import('../../api-specs/tracker/groups.ts')).groups,
  webhooks: async () => (await import('../../api-specs/tracker/workspace.ts')).webhooks,
  iterations: async () => (await import('../../api-specs/tracker/planning.ts')).iterations,
  'key-results': async () => (await import('../../api-specs/tracker/planning.ts')).keyResults,
  labels: async () => (await import('../../api-specs/tracker/labels.ts')).labels,
  members: async () => (await import('../../api-specs/tracker/workspace.ts')).members,
  projects: async () => (await import('../../api-specs/tracker/groups.ts')).projects,
  repositories: async () => (await import('../../api-specs/tracker/workspace.ts')).repositories,
  objectives: async () => (await import('../../api-specs/tracker/planning.ts')).objectives,
  milestones: async () => (await import('../../api-specs/tracker/planning.ts')).milestones,
  stories: async () => (await import('../../api-specs/tracker/stories.ts')).stories,
  'story-tasks': async () => (await import('../../api-specs/tracker/stories.ts')).storyTasks,
  'story-comments': async () => (await import('../../api-specs/tracker/stories.ts')).storyComments,
  'story-links': async () => (await import('../../api-specs/tracker/stories.ts')).storyLinks,
  workflows: async () => (await import('../../api-specs/tracker/stories.ts')).workflows,
};

/** The resources with additional rows. The compiler requires each of them, so the other resources do not load the table. */
const extended = {
  documents: true,
  epics: true,
  iterations: true,
  milestones: true,
  objectives: true,
  stories: true,
  'story-comments': true,
} as const satisfies Record<keyof typeof trackerExtension, true>;
const isExtended = (resource: string): resource is keyof typeof extended => Object.hasOwn(extended, resource);

const rowsOf = async (resource: string): Promise<Resource> => {
  const base = await rows[resource]?.();
  if (!isExtended(resource)) return { ...base };
  const { trackerExtension: more } = await import('../../api-specs/tracker/extension.ts');
  return { ...base, ...more[resource] };
};

/** Returns the derived command with these words, if there is one: `tracker labels create`. */
export const oneCommand = async ([, resource = '', verb = '']: readonly string[]): Promise<
  Command | undefined
> => {
  if (byHand.has(`${resource} ${verb}`)) return undefined;
  const found = Object.hasOwn(rows, resource) ? await rowsOf(resource) : undefined;
  const row = Object.entries(found ?? {}).find(
    ([name, operation]) => (operation.cli?.verb ?? flagName(name)) === verb,
  );
  if (row === undefined) return undefined;
  const command = commandFrom({
    service: trackerInfo,
    resource,
    verb: flagName(row[0]),
    operation: row[1],
    naming: trackerNames,
  });
  return withWatch(withUndo(withEditor(withWeb(command), Object.values(found ?? {}))));
};

/** What the words need: one derived command, or all. */
export const load = async (words: readonly string[]): Promise<readonly Command[]> => {
  const one = await oneCommand(words);
  return one ? [one] : (await import('./commands.ts')).commands;
};
