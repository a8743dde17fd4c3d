import type { Table } from '../../core/operation.ts';
import { moreDocuments } from './more-documents.ts';
import { moreStories, reactions } from './more-stories.ts';
import { searchByKind } from './search-by-kind.ts';

/**
 * Routes that the vendor's own tools call and the document does not have, by the resource that they belong to. Each row is
 * marked as an extension; commands, OpenAPI, completion and reference derive from it as from every other.
 */
export const trackerExtension = {
  documents: { ...moreDocuments, ...searchByKind.documents },
  epics: searchByKind.epics,
  iterations: searchByKind.iterations,
  milestones: searchByKind.milestones,
  objectives: searchByKind.objectives,
  stories: { ...moreStories, ...searchByKind.stories },
  'story-comments': reactions,
} as const satisfies Table;
