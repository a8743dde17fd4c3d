/** A valid value of each text format, for help and the served documents. */
export const formatExamples: Readonly<Record<string, string>> = {
  uuid: '12345678-9012-4234-8678-901234567890',
  color: '#cc0000',
  date: '2026-01-02',
  datetime: '2026-01-02T03:04:05Z',
  url: 'https://example.com/',
  duration: '60s',
};
