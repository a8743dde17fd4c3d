import type { Value } from '../../kernel/field.ts';
import type { ThreadedComment, epicState, epicWorkflow } from '../../services/tracker/epic-records.ts';
import type { linkedFile, uploadedFile } from '../../services/tracker/file-records.ts';
import type { category, health, keyResult, objective, project } from '../../services/tracker/planning-records.ts';
import type { epic } from '../../services/tracker/epic-records.ts';
import type { iteration } from '../../services/tracker/planning-records.ts';
import type { labelSlim } from '../../services/tracker/records.ts';
import type { storyComment, storyLink, storySlim, task, workflow, workflowState } from '../../services/tracker/story-records.ts';
import type {
  customField,
  customFieldValue,
  docSlim,
  entityTemplate,
  group,
  member,
  memberInfo,
  repository,
  webhook,
} from '../../services/tracker/workspace-records.ts';
import type { World } from '../service.ts';
import type { Collection } from '../store.ts';
import { Cache } from './cache.ts';
import { Tallies } from './tallies.ts';

/**
 * Records as stored. What follows from other records (statistics, embedded labels, comments) or from where the server
 * listens (addresses) is made when a record is read.
 */
export type StoredLabel = Omit<Value<typeof labelSlim>, 'app_url'>;
export type StoredCategory = Value<typeof category>;
export type StoredObjective = Omit<Value<typeof objective>, 'app_url' | 'categories' | 'key_result_ids' | 'stats'> & { category_ids: number[] };
export type StoredKeyResult = Omit<Value<typeof keyResult>, 'progress'>;
export type StoredHealth = Value<typeof health> & { id: string; epic_id: number };
export type StoredEpic = Omit<
  Value<typeof epic>,
  | 'app_url'
  | 'associated_groups'
  | 'comments'
  | 'health'
  | 'labels'
  | 'group_id'
  | 'milestone_id'
  | 'project_ids'
  | 'state'
  | 'stats'
  | 'stories_without_projects'
>;
export type StoredEpicComment = Omit<ThreadedComment, 'app_url' | 'comments'> & { epic_id: number; parent_id: number | null };
export type StoredIteration = Omit<Value<typeof iteration>, 'app_url' | 'labels' | 'stats' | 'status'>;
export type StoredProject = Omit<Value<typeof project>, 'app_url' | 'stats'>;
export type StoredGroup = Omit<
  Value<typeof group>,
  'app_url' | 'num_epics_started' | 'num_stories' | 'num_stories_backlog' | 'num_stories_started' | 'display_icon'
> & { display_icon_id: string | null; icon_at: string | null };
export type StoredStory = Omit<Value<typeof storySlim>, 'app_url' | 'labels' | 'description'> & { description: string };
export type StoredStoryComment = Omit<Value<typeof storyComment>, 'app_url'>;
export type StoredTask = Value<typeof task>;
export type StoredStoryLink = Omit<Value<typeof storyLink>, 'subject_workflow_state_id'>;
export type StoredWorkflow = Omit<Value<typeof workflow>, 'states'> & { states: Value<typeof workflowState>[] };
export type StoredEpicWorkflow = Omit<Value<typeof epicWorkflow>, 'epic_states'> & { epic_states: Value<typeof epicState>[] };
export type StoredFile = Omit<Value<typeof uploadedFile>, 'url' | 'story_ids'>;
export type StoredLinkedFile = Omit<Value<typeof linkedFile>, 'story_ids'>;
export type StoredTemplate = Value<typeof entityTemplate>;
export type StoredWebhook = Omit<Value<typeof webhook>, 'has_secret'> & { secret: string | null };
export type StoredMember = Omit<Value<typeof member>, 'group_ids'>;
export type StoredCustomField = Omit<Value<typeof customField>, 'values'> & { values: Value<typeof customFieldValue>[] };
type StoredDocument = Omit<Value<typeof docSlim>, 'app_url'> & { content: string };
/** doc2 MemberInfo: what it says about the organization and the workspace; `owner` is the member that the token belongs to. */
type StoredWorkspace = Pick<Value<typeof memberInfo>, 'organization2' | 'workspace2'> & { owner: string };

/** Switches of the workspace; one that was never set is on. doc2 "What the service does" 4; Errors 403. */
export type Feature = 'entity-templates' | 'iterations' | 'documents' | 'group-entitlement' | 'objective-entitlement';

export type Tracker = {
  readonly world: World;
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
  readonly storyComments: Collection<StoredStoryComment>;
  readonly storyLinks: Collection<StoredStoryLink>;
  readonly tasks: Collection<StoredTask>;
  readonly templates: Collection<StoredTemplate>;
  readonly webhooks: Collection<StoredWebhook>;
  readonly workflows: Collection<StoredWorkflow>;
  readonly workspace: Collection<StoredWorkspace>;
  /** Counters over the stories. */
  readonly tallies: Tallies;
  /** JSON that was made before. */
  readonly cache: Cache;
  /** The last delivery to each webhook, so that events arrive in order. */
  readonly deliveries: Map<number, Promise<void>>;
  /** Webhooks whose receiver did not take the last delivery. */
  readonly failing: Set<number>;
};

export const trackerState = (world: World): Tracker => {
  const of = <T>(name: string): Collection<T> => world.store.collection<T>(`tracker.${name}`);
  const stories = of<StoredStory>('stories');
  const workflows = of<StoredWorkflow>('workflows');
  return {
    world,
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
    storyComments: of('story-comments'),
    storyLinks: of('story-links'),
    tasks: of('story-tasks'),
    templates: of('entity-templates'),
    webhooks: of('webhooks'),
    workflows,
    workspace: of('workspace'),
    tallies: new Tallies(stories, workflows),
    cache: new Cache(world.store),
    deliveries: new Map(),
    failing: new Set(),
  };
};
