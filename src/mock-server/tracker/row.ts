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
  customField,
  customFieldValue,
  docSlim,
  entityTemplate,
  group,
  member,
  memberInfo,
  webhook,
} from '../../api-specs/tracker/records.ts';
import type { Collection } from '../store.ts';

export type StateType = 'backlog' | 'unstarted' | 'started' | 'done';
type ByType = { backlog: number; unstarted: number; started: number; done: number };
type Kind = 'label' | 'epic' | 'iteration' | 'project' | 'group' | 'state';

/** Counters for the stories of one label, epic, iteration, project, group or workflow state. */
export class StoryCounts {
  /** Grows with each change; texts made from it compare it. */
  version = 0;
  total = 0;
  points = 0;
  unestimated = 0;
  withoutProject = 0;
  readonly stories: ByType = { backlog: 0, unstarted: 0, started: 0, done: 0 };
  readonly pointsOf: ByType = { backlog: 0, unstarted: 0, started: 0, done: 0 };
  cycleSeconds = 0;
  cycles = 0;
  leadSeconds = 0;
  leads = 0;
  readonly projects = new Map<number, number>();
  readonly groups = new Map<string, number>();
  /** The latest `updated_at` of its stories; undefined if it must be computed again. */
  lastUpdate: string | null | undefined = null;
  /** How many stories were last changed at that time, and the time that was lost with the last of them. */
  #atLast = 0;
  #lost = '';
  change(story: StoredStory, type: StateType, by: 1 | -1): void {
    this.version += 1;
    this.total += by;
    this.stories[type] += by;
    const estimate = story.estimate ?? 0;
    this.points += by * estimate;
    this.pointsOf[type] += by * estimate;
    if (story.estimate === null) this.unestimated += by;
    if (typeof story.cycle_time === 'number')
      [this.cycleSeconds, this.cycles] = [this.cycleSeconds + by * story.cycle_time, this.cycles + by];
    if (typeof story.lead_time === 'number')
      [this.leadSeconds, this.leads] = [this.leadSeconds + by * story.lead_time, this.leads + by];
    if (story.project_id === null) this.withoutProject += by;
    else bump(this.projects, story.project_id, by);
    if (story.group_id !== null) bump(this.groups, story.group_id, by);
    this.#noteUpdate(story.updated_at, by);
  }
  /** The computed values. */
  setComputed(last: string | null, count: number): void {
    this.lastUpdate = last;
    this.#atLast = count;
  }
  #noteUpdate(at: string, by: 1 | -1): void {
    if (at === this.lastUpdate) {
      this.#atLast += by;
      if (this.#atLast > 0) return;
      this.lastUpdate = this.total === 0 ? null : undefined;
      this.#lost = at;
    } else if (by === 1) {
      // A change removes the old time and adds a later one, so no new computation is necessary.
      const known = this.lastUpdate === undefined ? this.#lost : (this.lastUpdate ?? '');
      if (at >= known) this.setComputed(at, 1);
    }
  }
}

const bump = <K>(counts: Map<K, number>, key: K, by: 1 | -1): void => {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
};
const NOTHING = new StoryCounts();

/** Counters over all stories, kept up to date with each change of one; built at the first question. */
export class StoryCounters {
  readonly #stories: Collection<StoredStory>;
  readonly #workflows: Collection<StoredWorkflow>;
  #counters: Map<string, StoryCounts> | undefined;
  #types: { readonly version: number; readonly byState: ReadonlyMap<number, StateType> } | undefined;
  constructor(stories: Collection<StoredStory>, workflows: Collection<StoredWorkflow>) {
    this.#stories = stories;
    this.#workflows = workflows;
    stories.watch({
      isWatching: () => this.#counters !== undefined,
      onChange: (before, after) => this.#noteChange(before, after),
    });
  }
  of(kind: Kind, id: number | string): StoryCounts {
    return this.#buildOnce().get(`${kind} ${id}`) ?? NOTHING;
  }
  typeOf(stateId: number): StateType {
    return this.#byState().get(stateId) ?? 'unstarted';
  }
  /** The latest change of a story of this epic; null without stories. */
  lastUpdate(epicId: number): string | null {
    const counts = this.of('epic', epicId);
    if (counts.lastUpdate !== undefined) return counts.lastUpdate;
    let last: string | null = null;
    let count = 0;
    for (const { updated_at: at } of this.#stories.index('epic', byEpic).get(epicId)) {
      if (at === last) count += 1;
      else if (last === null || at > last) [last, count] = [at, 1];
    }
    counts.setComputed(last, count);
    return last;
  }
  #byState(): ReadonlyMap<number, StateType> {
    const { version } = this.#workflows;
    if (this.#types?.version === version) return this.#types.byState;
    const byState = new Map<number, StateType>();
    for (const workflow of this.#workflows.values())
      for (const state of workflow.states) byState.set(state.id, state.type);
    // A story counts under the type its state has; other types make all counters void.
    this.#counters = undefined;
    this.#types = { version, byState };
    return byState;
  }
  #buildOnce(): Map<string, StoryCounts> {
    this.#byState();
    if (this.#counters !== undefined) return this.#counters;
    this.#counters = new Map();
    for (const [, story] of this.#stories.scan()) this.#count(this.#counters, story, 1);
    return this.#counters;
  }
  #noteChange(before: StoredStory | undefined, after: StoredStory | undefined): void {
    this.#byState();
    if (this.#counters === undefined) return;
    if (before !== undefined) this.#count(this.#counters, before, -1);
    if (after !== undefined) this.#count(this.#counters, after, 1);
  }
  #count(counters: Map<string, StoryCounts>, story: StoredStory, by: 1 | -1): void {
    const type = this.typeOf(story.workflow_state_id);
    const add = (kind: Kind, id: number | string | null): void => {
      if (id === null) return;
      const key = `${kind} ${id}`;
      let counts = counters.get(key);
      if (counts === undefined) {
        counts = new StoryCounts();
        counters.set(key, counts);
      }
      counts.change(story, type, by);
    };
    add('epic', story.epic_id);
    add('iteration', story.iteration_id);
    add('project', story.project_id);
    add('group', story.group_id);
    add('state', story.workflow_state_id);
    for (const id of story.label_ids) add('label', id);
  }
}

export const byEpic = (story: StoredStory): number | null => story.epic_id;

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
  /** The receiver's status, or the reason why none existed. */
  answer?: string;
  readonly body: string;
};
