import type { Service } from '../../kernel/operation.ts';
import { labels } from './labels.ts';

/** doc2: work-tracking REST API. */
export const tracker = {
  name: 'tracker',
  title: 'Work-Tracking REST API',
  version: '3',
  basePath: '/api/v3',
  tokenHeader: { name: 'Tracker-Token', prefix: '' },
  ratePerMinute: 200,
  table: { labels },
} as const satisfies Service;
