/** Headers of every page and redirect. RFC 6749 10.13 and RFC 9700: no framing, no caching, no referrer. */
export const pageHeaders = (styleHash: string, formAction = "'none'"): Record<string, string> => ({
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src ${styleHash}; form-action ${formAction}; frame-ancestors 'none'; base-uri 'none'`,
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
});
