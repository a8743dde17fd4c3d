import type { health } from '../../api-specs/tracker/health.ts';
import type { Handlers } from '../table-service.ts';
import { currentHealth, healthHistory } from './epic-view.ts';
import { found, given, newUuid, now, ownerId } from './records.ts';
import type { Tracker } from './state.ts';
import type { StoredHealth } from './row.ts';

export const healthHandlers: Handlers<{ health: typeof health }, Tracker>['health'] = {
  get: ({ state, params }) => currentHealth(state, found(state.epics, params['epic-public-id']).id),
  // spec/tracker#states: POST health makes a new record, which becomes the current one.
  create: ({ state, params, body }) => {
    const epic = found(state.epics, params['epic-public-id']);
    const at = now(state);
    const record: StoredHealth = {
      id: newUuid(state),
      author_id: ownerId(state),
      epic_id: epic.id,
      objective_id: epic.objective_ids[0] ?? null,
      status: body.status,
      text: body.text ?? '',
      entity_type: 'health',
      created_at: at,
      updated_at: at,
    };
    state.health.put(record.id, record);
    return record;
  },
  history: ({ state, params }) => healthHistory(state, found(state.epics, params['epic-public-id']).id),
  update: ({ state, params, body }) => {
    const record = found(state.health, params['health-public-id']);
    const changed = { ...record, ...given(body, 'status', 'text'), updated_at: now(state) };
    state.health.put(record.id, changed);
    return changed;
  },
};
