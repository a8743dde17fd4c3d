import { type Resource, op } from '../../core/operation.ts';
import { epicWorkflow as epicWorkflowRecord } from './epic-records.ts';

export const epicWorkflow = {
  get: op({
    method: 'GET',
    path: '/epic-workflow',
    summary: 'Show the epic workflow and its states',
    cites: 'spec/tracker#epic-workflow',
    ok: 200,
    returns: epicWorkflowRecord,
    cli: { columns: ['id', 'default_epic_state_id', 'epic_states'] },
  }),
} as const satisfies Resource;
