import { help, int, list, req } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import { repository } from './workspace-records.ts';

const columns = ['id', 'full_name', 'type', 'url'] as const;

export const repositories = {
  list: op({
    method: 'GET',
    path: '/repositories',
    summary: 'List repositories',
    cites: 'spec/tracker#repositories',
    ok: 200,
    returns: list(repository),
    cli: { columns },
  }),
  get: op({
    method: 'GET',
    path: '/repositories/{repo-public-id}',
    summary: 'Show a repository',
    cites: 'spec/tracker#repositories',
    params: { 'repo-public-id': req(help(int(), 'The repository')) },
    ok: 200,
    returns: repository,
    cli: { columns },
  }),
} as const satisfies Resource;
