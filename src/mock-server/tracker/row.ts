import type { Value } from '../../core/field.ts';
import type {
  category,
  epic,
  epicState,
  epicWorkflow,
  health,
  iteration,
  keyResult,
  objective,
  project,
  ThreadedComment,
} from '../../api-specs/tracker/planning-records.ts';
import type { labelSlim, linkedFile, uploadedFile } from '../../api-specs/tracker/fields.ts';
import type { historyEvent } from '../../api-specs/tracker/extension.ts';
import type {
  storyComment,
  storyLink,
  storySlim,
  task,
  workflow,
  workflowState,
} from '../../api-specs/tracker/story-records.ts';
import type {
  customField,
  customFieldValue,
  docSlim,
  entityTemplate,
  group,
  member,
  memberInfo,
  webhook,
} from '../../api-specs/tracker/workspace-records.ts';

/**
 * Records as stored. Values that follow from other records (statistics, embedded labels, comments) or from
 * the server's URL (links) are computed when a record is read.
 */
export type StoredLabel = Omit<Value<typeof labelSlim>, 'app_url'>;
export type StoredCategory = Value<typeof category>;
export type StoredObjective = Omit<
  Value<typeof objective>,
  'app_url' | 'categories' | 'key_result_ids' | 'stats'
> & { category_ids: number[] };
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
export type StoredEpicComment = Omit<ThreadedComment, 'app_url' | 'comments'> & {
  epic_id: number;
  parent_id: number | null;
};
export type StoredIteration = Omit<Value<typeof iteration>, 'app_url' | 'labels' | 'stats' | 'status'>;
export type StoredProject = Omit<Value<typeof project>, 'app_url' | 'stats'>;
export type StoredGroup = Omit<
  Value<typeof group>,
  | 'app_url'
  | 'num_epics_started'
  | 'num_stories'
  | 'num_stories_backlog'
  | 'num_stories_started'
  | 'display_icon'
> & { display_icon_id: string | null; icon_at: string | null };
export type StoredStory = Omit<Value<typeof storySlim>, 'app_url' | 'labels' | 'description'> & {
  description: string;
  /** Absent while the story never had one. */
  parent_story_id?: number | null;
};
/** One event of a story, as webhooks get it; the creation is made from the story itself. */
export type StoredHistory = Value<typeof historyEvent> & { story_id: number };
export type StoredStoryComment = Omit<Value<typeof storyComment>, 'app_url'>;
export type StoredTask = Value<typeof task>;
export type StoredStoryLink = Omit<Value<typeof storyLink>, 'subject_workflow_state_id'>;
export type StoredWorkflow = Omit<Value<typeof workflow>, 'states'> & {
  states: Value<typeof workflowState>[];
};
export type StoredEpicWorkflow = Omit<Value<typeof epicWorkflow>, 'epic_states'> & {
  epic_states: Value<typeof epicState>[];
};
export type StoredFile = Omit<Value<typeof uploadedFile>, 'url' | 'story_ids'>;
export type StoredLinkedFile = Omit<Value<typeof linkedFile>, 'story_ids'>;
export type StoredTemplate = Value<typeof entityTemplate>;
export type StoredWebhook = Omit<Value<typeof webhook>, 'has_secret'> & { secret: string | null };
export type StoredMember = Omit<Value<typeof member>, 'group_ids'>;
export type StoredCustomField = Omit<Value<typeof customField>, 'values'> & {
  values: Value<typeof customFieldValue>[];
};
export type StoredDocument = Omit<Value<typeof docSlim>, 'app_url'> & {
  content: string;
  /** How the content was sent; absent is Markdown. */
  format?: 'markdown' | 'html';
  created_at?: string;
  updated_at?: string;
};
/**
 * spec/tracker#members: its data about the organization and the workspace; `owner` is the member that owns
 * the token.
 */
export type StoredWorkspace = Pick<Value<typeof memberInfo>, 'organization2' | 'workspace2'> & {
  owner: string;
};
/** What became of one event at one webhook. Kept in memory: a receiver is tested while the server runs. */
export type Delivery = {
  readonly number: number;
  readonly webhook_id: number;
  readonly url: string;
  /** `story.update` */
  readonly event: string;
  readonly at: string;
  /** The delivery whose bytes were sent again. */
  readonly resend_of?: number;
  status: 'pending' | 'delivered' | 'failed';
  attempts: number;
  /** The receiver's status, or the reason why there was none. */
  answer?: string;
  readonly body: string;
};
