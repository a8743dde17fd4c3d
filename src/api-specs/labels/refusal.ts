import { any, list, obj, str } from '../../core/field.ts';
import { int32 } from './wire.ts';

/** spec/labels#errors: the statuses of a refusal, and the body of each. */
export const refusals = {
  meanings: {
    400: 'The request is wrong (INVALID_ARGUMENT), or the label is not in a state for it (FAILED_PRECONDITION)',
    401: 'The access token is missing or no longer good (UNAUTHENTICATED)',
    403: 'The token lacks a scope, or the caller a role (PERMISSION_DENIED)',
    404: 'The label, revision, permission or method does not exist (NOT_FOUND)',
    409: 'What is to be made exists already (ALREADY_EXISTS)',
    429: 'The quota is used up; this one was not processed (RESOURCE_EXHAUSTED)',
  },
  body: obj(
    {
      error: obj({ code: int32(), message: str(), status: str(), details: list(any()) }, { name: 'Status' }),
    },
    { name: 'ErrorBody' },
  ),
} as const;
