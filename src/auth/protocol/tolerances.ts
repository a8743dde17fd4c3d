/** Ways in which responses of real servers differ from the standards without harm to the user. `auth conformance` reports each of them. */
export const tolerances = {
  'content-type': { rule: 'a response has the content type application/json', source: 'RFC 6749 5.1' },
  'content-encoding': {
    rule: 'a response is not compressed if the request asks for identity',
    source: 'RFC 9110 12.5.3',
  },
  'byte-order-mark': { rule: 'JSON does not start with a byte order mark', source: 'RFC 8259 8.1' },
  'null-field': { rule: 'a field without a value is omitted', source: 'RFC 6749 5.1' },
  'scope-array': { rule: 'scope is a string', source: 'RFC 6749 3.3' },
  'scope-commas': { rule: 'scopes are separated by spaces', source: 'RFC 6749 3.3' },
  'missing-token-type': { rule: 'token_type is present', source: 'RFC 6749 5.1' },
  'expires-in': { rule: 'expires_in is a positive whole number of seconds', source: 'RFC 6749 5.1' },
  'success-status': { rule: 'a token response has status 200', source: 'RFC 6749 5.1' },
  'error-status': { rule: 'an error has status 400 or 401', source: 'RFC 6749 5.2, RFC 8628 3.5' },
  'error-object': { rule: 'error is a string with an error code', source: 'RFC 6749 5.2' },
} as const satisfies Readonly<Record<string, { readonly rule: string; readonly source: string }>>;

export type Tolerance = keyof typeof tolerances;

export const toleranceLine = (what: string, name: Tolerance): string =>
  `${what}: the server deviates from ${tolerances[name].source} (${tolerances[name].rule}); opsctl accepts the response`;
