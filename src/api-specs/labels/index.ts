import type { Service } from '../../core/operation.ts';
import { capabilities, labels, limits, locks, revisionLocks } from './labels.ts';
import { permissions, revisionPermissions } from './permissions.ts';
import { refusals, scopesFor, systemQuery } from './wire.ts';

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
