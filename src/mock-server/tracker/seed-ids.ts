/** Identifiers that a person can read: the first group says the kind, the last one the number. */
export const ids = {
  owner: '11111111-0000-4000-8000-000000000001',
  ben: '11111111-0000-4000-8000-000000000002',
  cleo: '11111111-0000-4000-8000-000000000003',
  workspace: '22222222-0000-4000-8000-000000000001',
  organization: '22222222-0000-4000-8000-000000000002',
  priority: '33333333-0000-4000-8000-000000000001',
  area: '33333333-0000-4000-8000-000000000002',
  keyResultDone: '55555555-0000-4000-8000-000000000001',
  keyResultCount: '55555555-0000-4000-8000-000000000002',
  group: '66666666-0000-4000-8000-000000000001',
  template: '77777777-0000-4000-8000-000000000001',
  document: '88888888-0000-4000-8000-000000000001',
  health: '99999999-0000-4000-8000-000000000001',
} as const;
/** Whole-number identifiers of what the API cannot make; all below the first that the sequence gives (101). */
export const numbers = {
  workflow: 1,
  toDo: 11,
  doing: 12,
  done: 13,
  backlog: 10,
  epicWorkflow: 2,
  epicToDo: 21,
  epicDoing: 22,
  epicDone: 23,
  repository: 31,
} as const;
