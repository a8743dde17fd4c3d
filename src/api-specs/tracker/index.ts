import type { Service } from '../../core/operation.ts';
import { categories } from './categories.ts';
import { customFields } from './workspace.ts';
import { documents } from './documents.ts';
import { entityTemplates } from './entity-templates.ts';
import { epicComments } from './epic-comments.ts';
import { epicWorkflow } from './epic-workflow.ts';
import { epics } from './epics.ts';
import { trackerExtension as more } from './extension.ts';
import { externalLinks } from './external-links.ts';
import { files } from './files.ts';
import { groups } from './groups.ts';
import { health } from './health.ts';
import { iterations } from './planning.ts';
import { keyResults } from './key-results.ts';
import { labels } from './labels.ts';
import { linkedFiles } from './linked-files.ts';
import { members } from './members.ts';
import { milestones } from './milestones.ts';
import { objectives } from './objectives.ts';
import { projects } from './projects.ts';
import { repositories } from './repositories.ts';
import { search } from './search.ts';
import { stories } from './stories.ts';
import { storyComments, storyLinks, storyTasks, workflows } from './story-parts.ts';
import { trackerInfo } from './info.ts';
import { webhooks } from './webhooks.ts';

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
