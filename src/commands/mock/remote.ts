import { AppError, type Problem, problemText } from '../../core/problem.ts';
import { type Live, liveServer } from '../../mock-server/instance-lock.ts';
import { CONTROL_PATH } from '../../mock-server/control.ts';
import type { Context } from '../../cli/command.ts';
import { type Embedded, embeddedMock, mockDirectory } from './embedded.ts';

/** One request to the control interface; resolves with the answer's JSON, undefined when it has none. */
export type Ask = (method: string, path: string, body?: unknown) => Promise<any>;

const refused = (status: number, text: string): AppError => {
  let answer: { message?: string; problems?: readonly Problem[] } = {};
  try {
    answer = JSON.parse(text);
  } catch {
    answer = { message: text };
  }
  const { message = `status ${status}`, problems = [] } = answer;
  const category = status === 404 ? 'not-found' : status >= 500 ? 'network' : 'usage';
  return new AppError(category, [message, ...problems.map(problemText)].join(': '), {
    httpStatus: status,
    problems,
  });
};

/** `OPSCTL_MOCK_URL` is what `mock run` gives its child, so that the child steers that server and not the directory's. */
const reachable = async (context: Context): Promise<Pick<Embedded, 'url' | 'close'>> => {
  const given = context.host.env.OPSCTL_MOCK_URL;
  if (given !== undefined && given !== '') return { url: given.replace(/\/$/, ''), close: async () => {} };
  return embeddedMock(context.host, context.settings, context.log, context.signal);
};

/** The running server, or the kept state in this process for as long as `work` takes. */
export const steer = async <R>(context: Context, work: (ask: Ask, url: string) => Promise<R>): Promise<R> => {
  const mock = await reachable(context);
  const ask: Ask = async (method, path, body) => {
    const text = typeof body === 'string' ? body : body === undefined ? undefined : JSON.stringify(body);
    const headers = { 'content-type': 'application/json' };
    const reply = await context.host.network.request({
      method,
      url: `${mock.url}${CONTROL_PATH}${path}`,
      headers,
      ...(text === undefined ? {} : { body: text }),
    });
    const answer = await reply.text();
    if (reply.status >= 400) throw refused(reply.status, answer);
    return answer === '' ? undefined : JSON.parse(answer);
  };
  try {
    return await work(ask, mock.url);
  } finally {
    await mock.close();
  }
};

/** True when another process serves; a command that only makes sense then says so. */
export const isServed = (context: Context): boolean =>
  Boolean(context.host.env.OPSCTL_MOCK_URL) ||
  liveServer(context.host, mockDirectory(context.settings)) !== undefined;

const noServer = (): AppError =>
  new AppError('config', 'no mock server is running', {
    code: 'NO_MOCK_SERVER',
    tryThis: [
      'opsctl mock start',
      'OPSCTL_MOCK_URL=URL names a server that runs elsewhere, as with `mock serve --ephemeral`',
    ],
  });

/** For commands that ask a server what it received: without one there is nothing to ask. */
export const requireServer = (context: Context): void => {
  if (!isServed(context)) throw noServer();
};

/** The server of the state directory, with its ready line. */
export const runningServer = ({ host, settings }: Context): Live => {
  const live = liveServer(host, mockDirectory(settings));
  if (live === undefined) throw noServer();
  return live;
};
