import { check } from '../core/check.ts';
import { type Value, int, list, map, num, obj, req, str, bool, url } from '../core/field.ts';
import { messageOf } from '../core/error-message.ts';
import { invalidArguments, problem, type InvalidArguments } from '../core/problem.ts';
import type { Host } from '../platform/host.ts';
import { limits } from '../core/limits.ts';

const FORMAT = 'opsctl-trace/1';

const exchange = obj({
  startedMs: req(num()),
  tookMs: req(num()),
  attempt: req(int({ min: 1 })),
  method: req(str(16)),
  url: req(url(65_536)),
  requestHeaders: req(map(str())),
  requestBody: str(),
  status: req(int({ min: 0, max: 599 })),
  responseHeaders: req(map(str())),
  responseBody: req(str()),
  isCut: bool(),
  error: str(),
});
const service = obj({ baseUrl: req(url(4096)), basePath: str(1024), planningWord: str(100) });
const trace = obj({
  format: req(str(50)),
  version: req(str(50)),
  command: req(list(str(200))),
  services: req(map(service)),
  exchanges: req(list(exchange)),
});
/** What `--record` writes: the requests of one run in their order, with their answers and without secrets. */
export type TraceFile = Value<typeof trace>;

export const traceText = (file: Omit<TraceFile, 'format'>): string =>
  `${JSON.stringify({ format: FORMAT, ...file }, null, 1)}\n`;

const refused = (path: string, message: string): InvalidArguments =>
  invalidArguments(
    [problem('--replay', 'format', `${path} ${message}`)],
    ['opsctl … --record FILE makes a trace'],
  );

const parsed = (path: string, text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw refused(path, `is no JSON: ${messageOf(error)}`);
  }
};

/** More than the form of an address: it is taken apart when it is compared. */
const refuseNoAddress = (path: string, { services, exchanges }: TraceFile): void => {
  const all = [...Object.values(services).map(({ baseUrl }) => baseUrl), ...exchanges.map((one) => one.url)];
  const wrong = all.find((address) => !URL.canParse(address));
  if (wrong !== undefined) throw refused(path, `is damaged: ${wrong.slice(0, 200)} is no address`);
};

/** A file that may come from anybody: its size, its form and every value are checked. */
export const readTrace = async ({ files }: Host, path: string): Promise<TraceFile> => {
  const info = await files.info(path);
  if (info === undefined) throw refused(path, 'does not exist');
  if (info.sizeBytes > limits.traceBytes)
    throw refused(path, `has ${info.sizeBytes} bytes; at most ${limits.traceBytes} are read`);
  const value = parsed(path, (await files.read(path)) ?? '');
  if ((value as { format?: unknown } | null)?.format !== FORMAT)
    throw refused(path, `is no trace: its format must be ${FORMAT}`);
  const [first] = check(trace, value, '');
  if (first !== undefined) throw refused(path, `is damaged: ${first.path} ${first.message}`);
  refuseNoAddress(path, value as TraceFile);
  return value as TraceFile;
};
