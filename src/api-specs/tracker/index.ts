import type { Service } from '../../core/operation.ts';
import { categories, labels } from './labels.ts';
import {
  customFields,
  epicWorkflow,
  externalLinks,
  members,
  repositories,
  webhooks,
  entityTemplates,
} from './workspace.ts';
import { documents, files, linkedFiles } from './files.ts';
import { epicComments, epics, health } from './epics.ts';
import { trackerExtension as more } from './extension.ts';
import { groups, projects } from './groups.ts';
import { iterations, keyResults, milestones, objectives } from './planning.ts';
import { search } from './search.ts';
import { stories, storyComments, storyLinks, storyTasks, workflows } from './stories.ts';
import { trackerInfo } from './info.ts';

/** spec/tracker: work-tracking REST API. */
export const tracker = {
  ...trackerInfo,
  table: {
    categories,
    'custom-fields': customFields,
    documents: { ...documents, ...more.documents },
    'entity-templates': entityTemplates,
    'epic-workflow': epicWorkflow,
    epics: { ...epics, ...more.epics },
    'epic-comments': epicComments,
    health,
    files,
    'linked-files': linkedFiles,
    'external-links': externalLinks,
    groups,
    webhooks,
    iterations: { ...iterations, ...more.iterations },
    'key-results': keyResults,
    labels,
    members,
    projects,
    repositories,
    objectives: { ...objectives, ...more.objectives },
    milestones: { ...milestones, ...more.milestones },
    search,
    stories: { ...stories, ...more.stories },
    'story-tasks': storyTasks,
    'story-comments': { ...storyComments, ...more['story-comments'] },
    'story-links': storyLinks,
    workflows,
  },
} as const satisfies Service;
