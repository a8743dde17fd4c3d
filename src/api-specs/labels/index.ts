import type { Service } from '../../core/operation.ts';
import { labels } from './labels.ts';
import { capabilities, limits } from './limits.ts';
import { locks, revisionLocks } from './locks.ts';
import { permissions, revisionPermissions } from './permissions.ts';
import { refusals } from './refusal.ts';
import { scopesFor } from './scopes.ts';
import { systemQuery } from './system.ts';

/** spec/labels: label-management service. */
export const labelsService = {
  name: 'labels',
  title: 'Label-Management Service',
  version: 'v2beta',
  basePath: '/v2beta',
  refusals,
  everywhere: systemQuery,
  scopes: scopesFor,
  tokenHeader: { name: 'Authorization', prefix: 'Bearer ' },
  table: { labels, permissions, locks, revisionPermissions, revisionLocks, limits, capabilities },
} as const satisfies Service;
