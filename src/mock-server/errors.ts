/** spec/labels#errors: the words that go with a status. */
const statusNames: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  413: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** The body of a trouble that no service answered itself (an injected fault, a body that is too large), as clients of the path read it. */
export const failureBody = (path: string, status: number, message: string): string =>
  /^\/v2beta(\/|$)/.test(path)
    ? JSON.stringify({
        error: { code: status, message, status: statusNames[status] ?? 'UNKNOWN', details: [] },
      })
    : JSON.stringify({ message });
