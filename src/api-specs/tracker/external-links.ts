import { help, list, req, str } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import { storySlim } from './story-records.ts';

export const externalLinks = {
  stories: op({
    method: 'GET',
    path: '/external-link/stories',
    summary: 'List the stories that have an external link',
    cites: 'spec/tracker#external-links',
    query: { external_link: req(help(str(2048, { min: 1 }), 'The link')) },
    ok: 200,
    returns: list(storySlim),
    cli: { columns: ['id', 'name', 'story_type', 'external_links'] },
  }),
} as const satisfies Resource;
