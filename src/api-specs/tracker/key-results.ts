import { help, req, str, uuid } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import { keyResult, keyResultValue } from './planning-records.ts';

const id = { 'key-result-public-id': req(help(uuid(), 'The key result')) } as const;
const columns = ['id', 'name', 'type', 'progress'] as const;

export const keyResults = {
  get: op({
    method: 'GET',
    path: '/key-results/{key-result-public-id}',
    summary: 'Show a key result',
    cites: 'spec/tracker#key-results',
    params: id,
    ok: 200,
    returns: keyResult,
    cli: { columns },
  }),
  update: op({
    method: 'PUT',
    path: '/key-results/{key-result-public-id}',
    summary: 'Change a key result',
    cites: 'spec/tracker#key-results',
    params: id,
    body: {
      initial_observed_value: help(keyResultValue, 'Value at the start'),
      observed_value: help(keyResultValue, 'Value now'),
      target_value: help(keyResultValue, 'Value to reach'),
      name: help(str(1024, { min: 1 }), 'Name'),
    },
    ok: 200,
    returns: keyResult,
    cli: { columns },
  }),
} as const satisfies Resource;
