import type { Operation } from '../../core/operation.ts';

/** What the 26 rows have in common, read from the rows. */
export const isUnderRevision = ({ path }: Operation): boolean => path.includes('/revisions/*');
export const isOnePermission = ({ path }: Operation): boolean => path.endsWith('/permissions/*}');
export const isCapabilities = ({ path }: Operation): boolean => path.includes('/capabilities');

export const paged = (operation: Operation): boolean => operation.query?.pageToken !== undefined;
export const takesAdmin = (operation: Operation): 'query' | 'body' | undefined =>
  operation.query?.useAdminAccess ? 'query' : operation.body?.useAdminAccess ? 'body' : undefined;
export const takesPin = (operation: Operation): boolean =>
  operation.body?.writeControl !== undefined ||
  operation.query?.['writeControl.requiredRevisionId'] !== undefined;
