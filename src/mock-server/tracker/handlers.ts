import type { tracker } from '../../api-specs/tracker/index.ts';
import type { Handlers } from '../table-service.ts';
import { categoryHandlers, labelHandlers } from './labels.ts';
import { customFieldHandlers, entityTemplateHandlers } from './entity-templates.ts';
import { documentHandlers, fileHandlers, linkedFileHandlers } from './files.ts';
import { epicCommentHandlers, epicHandlers, healthHandlers } from './epics.ts';
import { extensionHandlers as more } from './extension.ts';
import {
  epicWorkflowHandlers,
  externalLinkHandlers,
  groupHandlers,
  memberHandlers,
  projectHandlers,
  repositoryHandlers,
} from './groups.ts';
import { iterationHandlers, keyResultHandlers, milestoneHandlers, objectiveHandlers } from './objectives.ts';
import { searchHandlers } from './search.ts';
import type { Tracker } from './state.ts';
import { storyHandlers } from './stories.ts';
import {
  storyCommentHandlers,
  storyLinkHandlers,
  storyTaskHandlers,
  workflowHandlers,
} from './story-parts.ts';
import { webhookHandlers } from './webhooks.ts';

/** One handler for each row; the compiler counts them. */
export const trackerHandlers: Handlers<(typeof tracker)['table'], Tracker> = {
  categories: categoryHandlers,
  'custom-fields': customFieldHandlers,
  documents: { ...documentHandlers, ...more.documents },
  'entity-templates': entityTemplateHandlers,
  'epic-workflow': epicWorkflowHandlers,
  epics: { ...epicHandlers, ...more.epics },
  'epic-comments': epicCommentHandlers,
  health: healthHandlers,
  files: fileHandlers,
  'linked-files': linkedFileHandlers,
  'external-links': externalLinkHandlers,
  groups: groupHandlers,
  webhooks: webhookHandlers,
  iterations: { ...iterationHandlers, ...more.iterations },
  'key-results': keyResultHandlers,
  labels: labelHandlers,
  members: memberHandlers,
  projects: projectHandlers,
  repositories: repositoryHandlers,
  objectives: { ...objectiveHandlers, ...more.objectives },
  milestones: { ...milestoneHandlers, ...more.milestones },
  search: searchHandlers,
  stories: { ...storyHandlers, ...more.stories },
  'story-tasks': storyTaskHandlers,
  'story-comments': { ...storyCommentHandlers, ...more['story-comments'] },
  'story-links': storyLinkHandlers,
  workflows: workflowHandlers,
};
