import { problemText } from '../../core/problem.ts';
import type { HttpError } from '../http-error.ts';
import type { MockReply } from '../service.ts';

const json = { 'content-type': 'application/json; charset=utf-8' };

/** spec/program#choices: `{"message", "errors"?, "tag"?}`; spec/tracker#errors-4 for the shapes that were seen. */
export const refusal = (refused: HttpError): MockReply => {
  const errors = Object.fromEntries(
    refused.problems.map((p) => [p.path === '' ? 'body' : p.path, problemText({ ...p, path: '' })]),
  );
  const { allow, retry_after: retryAfter, ...own } = refused.body;
  const body = { message: refused.message, ...(refused.problems.length > 0 ? { errors } : {}), ...own };
  const headers = {
    ...json,
    ...(Array.isArray(allow) ? { allow: allow.join(', ') } : {}),
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
  };
  return { status: refused.status, headers, body: JSON.stringify(body) };
};
