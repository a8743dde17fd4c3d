import type { tracker } from '../../api-specs/tracker/index.ts';
import type { Handlers } from '../table-service.ts';
import { categoryHandlers } from './categories.ts';
import { customFieldHandlers } from './custom-fields.ts';
import { documentHandlers } from './documents.ts';
import { entityTemplateHandlers } from './entity-templates.ts';
import { epicCommentHandlers } from './epic-comments.ts';
import { epicHandlers } from './epics.ts';
import { fileHandlers } from './files.ts';
import { extensionHandlers as more } from './extension.ts';
import { externalLinkHandlers, groupHandlers } from './groups.ts';
import { healthHandlers } from './health.ts';
import { iterationHandlers } from './iterations.ts';
import { keyResultHandlers } from './key-results.ts';
import { labelHandlers } from './labels.ts';
import { linkedFileHandlers } from './linked-files.ts';
import { epicWorkflowHandlers, memberHandlers, repositoryHandlers } from './members.ts';
import { milestoneHandlers, objectiveHandlers } from './objectives.ts';
import { projectHandlers } from './projects.ts';
import { searchHandlers } from './search.ts';
import type { Tracker } from './state.ts';
import { storyHandlers } from './stories.ts';
import { storyCommentHandlers } from './story-comments.ts';
import { storyLinkHandlers } from './story-links.ts';
import { storyTaskHandlers, workflowHandlers } from './story-parts.ts';
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
