import type { storyLinks } from '../../api-specs/tracker/story-parts.ts';
import type { Handlers } from '../table-service.ts';
import { found, given, newId, now } from './records.ts';
import { linkJoinsTwoStories } from './rules/stories.ts';
import type { Tracker } from './state.ts';
import type { StoredStory, StoredStoryLink } from './row.ts';

type Verb = StoredStoryLink['verb'];

const storiesOfLink = (link: StoredStoryLink): readonly number[] => [link.subject_id, link.object_id];

/** Both stories show their links; a story is blocked or a blocker by its `blocks` links to stories that are not completed. */
const noteOn = (state: Tracker, storyId: number): void => {
  const story = state.stories.get(storyId);
  if (story === undefined) return;
  const links = [...state.storyLinks.index('story', storiesOfLink).get(storyId)];
  const isOpen = (id: number): boolean => state.stories.get(id)?.completed === false;
  state.stories.put(storyId, {
    ...story,
    story_links: links.map((link) => ({ ...link, type: link.subject_id === storyId ? 'subject' : 'object' })),
    blocker: links.some(
      (link) => link.verb === 'blocks' && link.subject_id === storyId && isOpen(link.object_id),
    ),
    blocked: links.some(
      (link) => link.verb === 'blocks' && link.object_id === storyId && isOpen(link.subject_id),
    ),
    updated_at: now(state),
  });
};
const noteOnBoth = (state: Tracker, link: StoredStoryLink): void => {
  noteOn(state, link.subject_id);
  noteOn(state, link.object_id);
};

export const linkStories = (
  state: Tracker,
  subjectId: number,
  objectId: number,
  verb: Verb,
): StoredStoryLink => {
  linkJoinsTwoStories(state, subjectId, objectId);
  const at = now(state);
  const link: StoredStoryLink = {
    id: newId(state),
    subject_id: subjectId,
    object_id: objectId,
    verb,
    entity_type: 'story-link',
    created_at: at,
    updated_at: at,
  };
  state.storyLinks.put(link.id, link);
  noteOnBoth(state, link);
  return link;
};

const drop = (state: Tracker, link: StoredStoryLink): void => {
  state.storyLinks.delete(link.id);
  noteOnBoth(state, link);
};
export const unlinkStory = (state: Tracker, story: StoredStory): void => {
  for (const { id } of story.story_links) drop(state, found(state.storyLinks, id));
};

const linkRecord = (state: Tracker, link: StoredStoryLink) => ({
  ...link,
  subject_workflow_state_id: found(state.stories, link.subject_id).workflow_state_id,
});

export const storyLinkHandlers: Handlers<{ 'story-links': typeof storyLinks }, Tracker>['story-links'] = {
  create: ({ state, body }) =>
    linkRecord(state, linkStories(state, body.subject_id, body.object_id, body.verb)),
  get: ({ state, params }) => linkRecord(state, found(state.storyLinks, params['story-link-public-id'])),
  update: ({ state, params, body }) => {
    const before = found(state.storyLinks, params['story-link-public-id']);
    const link: StoredStoryLink = {
      ...before,
      ...given(body, 'subject_id', 'object_id', 'verb'),
      updated_at: now(state),
    };
    linkJoinsTwoStories(state, link.subject_id, link.object_id);
    state.storyLinks.put(link.id, link);
    noteOnBoth(state, before);
    noteOnBoth(state, link);
    return linkRecord(state, link);
  },
  delete: ({ state, params }) => {
    drop(state, found(state.storyLinks, params['story-link-public-id']));
    return undefined;
  },
};
