/** What a table of faults shows. */
export const faultColumns = [
  'id',
  'method',
  'path',
  'status',
  'delay_ms',
  'percent',
  'skip',
  'cut',
  'content_type',
  'when',
  'count',
  'hits',
];
