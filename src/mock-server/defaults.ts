import type { MockOptions } from './service.ts';

/** What a server that was given no flags does (spec/program#mock-server). The tokens open nothing but this machine's own mock. */
export const defaultOptions: MockOptions = {
  ratePerMinute: 200,
  labelsAuth: 'any',
  stateIn: 'both',
  labelDeletePolicy: 'any',
  trackerToken: 'mock-tracker-token',
};
export const labelsToken = 'mock-labels-token';
