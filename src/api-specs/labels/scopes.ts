import type { Method } from '../../core/operation.ts';

/** spec/labels#scopes: reads take any of the four, writes two; admin calls need one that begins with `admin.`. */
const readScopes = ['labels', 'labels.readonly', 'admin.labels', 'admin.labels.readonly'] as const;
const writeScopes = ['labels', 'admin.labels'] as const;

/** Names of the scopes of which one is enough for a call. */
export const scopesFor = (method: Method | string, isAdminCall = false): readonly string[] =>
  (method === 'GET' ? readScopes : writeScopes).filter((name) => !isAdminCall || name.startsWith('admin.'));
