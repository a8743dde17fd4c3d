import { help, int, list, req, str, uuid } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import { health as healthRecord, healthStatus } from './planning-records.ts';

const epicId = { 'epic-public-id': req(help(int(), 'The epic')) } as const;
const columns = ['id', 'status', 'text', 'author_id', 'updated_at'] as const;
const status = help(healthStatus, 'How the epic is doing');
const text = help(str(), 'Why');

export const health = {
  get: op({
    method: 'GET',
    path: '/epics/{epic-public-id}/health',
    summary: 'Show the current health of an epic',
    cites: 'spec/tracker#health',
    params: epicId,
    ok: 200,
    returns: healthRecord,
    cli: { columns },
  }),
  create: op({
    method: 'POST',
    path: '/epics/{epic-public-id}/health',
    summary: 'Record the health of an epic',
    cites: 'spec/tracker#health',
    params: epicId,
    body: { status: req(status), text },
    ok: 201,
    returns: healthRecord,
    cli: {
      columns,
      examples: ["opsctl tracker health create 12 --status 'At Risk' --text 'Waiting for review'"],
    },
  }),
  history: op({
    method: 'GET',
    path: '/epics/{epic-public-id}/health-history',
    summary: 'List the health records of an epic, most recent first',
    cites: 'spec/tracker#health',
    params: epicId,
    ok: 200,
    returns: list(healthRecord),
    cli: { columns },
  }),
  update: op({
    method: 'PUT',
    path: '/health/{health-public-id}',
    summary: 'Change a health record',
    cites: 'spec/tracker#health',
    params: { 'health-public-id': req(help(uuid(), 'The health record')) },
    body: { status, text },
    ok: 200,
    returns: healthRecord,
    cli: { columns },
  }),
} as const satisfies Resource;
