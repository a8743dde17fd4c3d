import type { Category } from '../../core/problem.ts';
import type { Result } from '../../core/result.ts';
import type { Handler } from '../../platform/host.ts';
import type { Context } from '../../cli/command.ts';
import { endAs, runChild } from './run-child.ts';
import { untilAborted } from './until-aborted.ts';

type Given = {
  readonly command?: readonly string[] | undefined;
  readonly port?: number | undefined;
  readonly service?: 'tracker' | 'labels' | 'api' | undefined;
};
type Ending = {
  readonly what: string;
  /** After the last response; a category becomes the exit code when the command itself succeeded. */
  close(): Promise<Category | undefined>;
};

/** Serves requests on 127.0.0.1 for as long as a command runs, or until Ctrl-C. */
export const serveThrough = async (
  context: Context,
  { command = [], port = 0, service = 'tracker' }: Given,
  handler: Handler,
  { what, close }: Ending,
): Promise<Result> => {
  const { host, log, signal } = context;
  const listener = await host.network.listen(handler, { host: '127.0.0.1', port });
  const url = `http://127.0.0.1:${listener.port}`;
  log.info(`${what} at ${url}`);
  const variable = `OPSCTL_${service.toUpperCase()}_URL`;
  const work =
    command.length === 0
      ? untilAborted(signal).then(() => 0)
      : runChild(context, command, { [variable]: url });
  const code = await work.finally(() => listener.close());
  const category = await close();
  return code === 0 && category !== undefined ? { kind: 'nothing', exit: category } : endAs(context, code);
};
