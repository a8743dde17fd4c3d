import type { Value } from '../../core/field.ts';
import type { repository } from '../../api-specs/tracker/workspace-records.ts';
import type { Environment } from '../service.ts';
import type { Collection } from '../store.ts';
import { Cache } from './cache.ts';
import type {
  Delivery,
  StoredLabel,
  StoredCategory,
  StoredObjective,
  StoredKeyResult,
  StoredHealth,
  StoredHistory,
  StoredEpic,
  StoredEpicComment,
  StoredIteration,
  StoredProject,
  StoredGroup,
  StoredStory,
  StoredStoryComment,
  StoredTask,
  StoredStoryLink,
  StoredWorkflow,
  StoredEpicWorkflow,
  StoredFile,
  StoredLinkedFile,
  StoredTemplate,
  StoredWebhook,
  StoredMember,
  StoredCustomField,
  StoredDocument,
  StoredWorkspace,
} from './row.ts';
import { StoryCounters } from './counters.ts';

/** Switches of the workspace; one that was never set is on. spec/tracker#service-2, spec/tracker#errors-2. */
export type Feature =
  | 'entity-templates'
  | 'iterations'
  | 'documents'
  | 'group-entitlement'
  | 'objective-entitlement';

export type Tracker = {
  readonly env: Environment;
  readonly categories: Collection<StoredCategory>;
  readonly comments: Collection<StoredEpicComment>;
  readonly customFields: Collection<StoredCustomField>;
  readonly documents: Collection<StoredDocument>;
  readonly epics: Collection<StoredEpic>;
  readonly epicWorkflow: Collection<StoredEpicWorkflow>;
  readonly features: Collection<boolean>;
  readonly files: Collection<StoredFile>;
  readonly fileBytes: Collection<Uint8Array>;
  readonly groups: Collection<StoredGroup>;
  readonly health: Collection<StoredHealth>;
  readonly iterations: Collection<StoredIteration>;
  readonly keyResults: Collection<StoredKeyResult>;
  readonly labels: Collection<StoredLabel>;
  readonly linkedFiles: Collection<StoredLinkedFile>;
  readonly members: Collection<StoredMember>;
  readonly objectives: Collection<StoredObjective>;
  readonly projects: Collection<StoredProject>;
  readonly repositories: Collection<Value<typeof repository>>;
  readonly stories: Collection<StoredStory>;
  readonly storyHistory: Collection<StoredHistory>;
  readonly storyComments: Collection<StoredStoryComment>;
  readonly storyLinks: Collection<StoredStoryLink>;
  readonly tasks: Collection<StoredTask>;
  readonly templates: Collection<StoredTemplate>;
  readonly webhooks: Collection<StoredWebhook>;
  readonly workflows: Collection<StoredWorkflow>;
  readonly workspace: Collection<StoredWorkspace>;
  /** Counters over the stories. */
  readonly counters: StoryCounters;
  /** JSON that was made before. */
  readonly cache: Cache;
  /** The last delivery to each webhook, so that events arrive in order. */
  readonly deliveries: Map<number, Promise<void>>;
  /** What webhooks were sent, newest last. */
  readonly sent: { readonly list: Delivery[]; count: number };
  /** Webhooks whose receiver did not take the last delivery. */
  readonly failing: Set<number>;
};

const unsent = (): Pick<Tracker, 'deliveries' | 'sent' | 'failing'> => ({
  deliveries: new Map(),
  sent: { list: [], count: 0 },
  failing: new Set(),
});

export const trackerState = (env: Environment): Tracker => {
  const of = <T>(name: string): Collection<T> => env.store.collection<T>(`tracker.${name}`);
  const stories = of<StoredStory>('stories');
  const workflows = of<StoredWorkflow>('workflows');
  return {
    env,
    categories: of('categories'),
    comments: of('epic-comments'),
    customFields: of('custom-fields'),
    documents: of('documents'),
    epics: of('epics'),
    epicWorkflow: of('epic-workflow'),
    features: of('features'),
    files: of('files'),
    fileBytes: of('file-bytes'),
    groups: of('groups'),
    health: of('health'),
    iterations: of('iterations'),
    keyResults: of('key-results'),
    labels: of('labels'),
    linkedFiles: of('linked-files'),
    members: of('members'),
    objectives: of('objectives'),
    projects: of('projects'),
    repositories: of('repositories'),
    stories,
    storyHistory: of('story-history'),
    storyComments: of('story-comments'),
    storyLinks: of('story-links'),
    tasks: of('story-tasks'),
    templates: of('entity-templates'),
    webhooks: of('webhooks'),
    workflows,
    workspace: of('workspace'),
    counters: new StoryCounters(stories, workflows),
    cache: new Cache(env.store),
    ...unsent(),
  };
};
