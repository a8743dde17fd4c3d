import { messageOf } from '../../../core/error-message.ts';
import type { Host } from '../../../platform/host.ts';
import { limits } from '../../../core/limits.ts';

/** What says whether users notice something just now. */
export type ImpactProbe =
  | { readonly kind: 'command'; readonly command: string }
  | {
      readonly kind: 'query';
      readonly query: string;
      /** Base URL of a server with the HTTP API of Prometheus. */
      readonly prometheus: string;
      readonly token?: string | undefined;
    };
/** `unknown` pauses like `yes`: what was not observed is not a pass. */
export type Impact = { readonly state: 'yes' | 'no' | 'unknown'; readonly reason: string };

const probeMs = 30_000;
const mostShown = 3;

const lastLine = (text: string): string => (text.trim().split('\n').at(-1) ?? '').slice(0, 200);

/** As `while COMMAND` in a shell: 0 is yes. 1 is no, as of grep and test; everything else is a command that could not tell. */
const byCommand = async (host: Host, command: string): Promise<Impact> => {
  const done = await host.processes.run('sh', ['-c', command], { timeoutMs: probeMs });
  const said = lastLine(done.stdout) || lastLine(done.stderr);
  if (done.timedOut) return { state: 'unknown', reason: `the command gave no answer in ${probeMs / 1000} s` };
  const what = `exit code ${done.code ?? done.signal ?? 'none'}${said === '' ? '' : `: ${said}`}`;
  if (done.code === 0) return { state: 'yes', reason: said === '' ? 'the command says so' : said };
  if (done.code === 1) return { state: 'no', reason: what };
  return { state: 'unknown', reason: `the command ended with ${done.startError ?? what}` };
};

type Sample = { readonly metric?: Readonly<Record<string, string>> };
const labels = ({ metric = {} }: Sample): string =>
  metric['alertname'] ??
  Object.entries(metric)
    .map(([name, value]) => `${name}=${value}`)
    .join(',')
    .slice(0, 100);

type Answer = {
  readonly status?: string;
  readonly error?: string;
  readonly data?: { readonly resultType?: string; readonly result?: unknown };
};
const unknown = (reason: string): Impact => ({ state: 'unknown', reason });

const ofVector = (samples: readonly Sample[]): Impact => {
  if (samples.length === 0) return { state: 'no', reason: 'no sample' };
  const count = samples.length === 1 ? 'a sample' : `${samples.length} samples`;
  const more = samples.length > mostShown ? ` and ${samples.length - mostShown} more` : '';
  return { state: 'yes', reason: `${count}: ${samples.slice(0, mostShown).map(labels).join('; ')}${more}` };
};
const ofScalar = (value: string): Impact =>
  Number(value) === 0 ? { state: 'no', reason: '0' } : { state: 'yes', reason: value };

/** As an alerting rule: a vector with any sample is yes, whatever its value; a scalar is yes unless it is 0. Pure. */
export const impactOf = (status: number, text: string): Impact => {
  let body: Answer;
  try {
    body = JSON.parse(text);
  } catch {
    return unknown(`the answer (${status}) is not JSON: is this the base URL of Prometheus?`);
  }
  if (body.status !== 'success')
    return unknown(`the query failed (${status}): ${String(body.error ?? 'no reason').slice(0, 200)}`);
  const { resultType, result } = body.data ?? {};
  if (resultType === 'vector' && Array.isArray(result)) return ofVector(result);
  if (resultType === 'scalar' && Array.isArray(result)) return ofScalar(String(result[1]));
  return unknown(`the query gives a ${resultType ?? 'result of no type'}, not a vector or scalar`);
};

const byQuery = async (
  host: Host,
  { query, prometheus, token }: Extract<ImpactProbe, { kind: 'query' }>,
): Promise<Impact> => {
  const url = `${prometheus.replace(/\/+$/, '')}/api/v1/query`;
  try {
    const reply = await host.network.request({
      method: 'POST',
      url,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: new URLSearchParams({ query, timeout: '20s' }).toString(),
      timeoutMs: probeMs,
      maxReplyBytes: limits.metricReplyBytes,
    });
    return impactOf(reply.status, await reply.text());
  } catch (error) {
    const why = messageOf(error);
    return { state: 'unknown', reason: `${new URL(url).host} cannot be asked: ${why}` };
  }
};

export const askImpact = (host: Host, probe: ImpactProbe): Promise<Impact> =>
  probe.kind === 'command' ? byCommand(host, probe.command) : byQuery(host, probe);
