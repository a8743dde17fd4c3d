import { errorFrom, jsonOf, refuseNoSuccess } from '../api/response.ts';
import type { HttpReply } from '../platform/host.ts';
import type { Context } from '../cli/command.ts';
import { explainedRefusal } from './refusal.ts';

/** What a request outside the tables gave: JSON, or the error that it means. */
export const jsonReply = async (context: Context, reply: HttpReply, what: string): Promise<unknown> => {
  const read = { status: reply.status, headers: reply.headers, text: await reply.text() };
  if (reply.status >= 400) throw explainedRefusal(errorFrom(read, what), await context.target('tracker'));
  refuseNoSuccess(read, what);
  return jsonOf(read, what);
};
