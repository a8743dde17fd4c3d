import type { ProcessState } from './driver.ts';

/** One container of the member's pod as `crictl ps -a -o json` shows it. */
type Container = {
  readonly state: string;
  readonly pod: string;
  readonly createdMs: number;
  readonly attempt: number;
};

type Told = (container: Container) => ProcessState;
const ended: Told = ({ attempt }) => ({
  state: 'gone',
  // What ended at its start ends again: its old version is one revert away.
  reason: `its container has ended${attempt > 0 ? ` (attempt ${attempt + 1})` : ''}; crictl logs tells why`,
});
/** What each state of the runtime's interface means while no process of the member was found. */
const states: Readonly<Record<string, Told>> = {
  CONTAINER_CREATED: () => ({
    state: 'starting',
    awaits: 'its container, which is created and not started yet',
  }),
  CONTAINER_RUNNING: () => ({ state: 'starting', awaits: 'the process in its container, which runs' }),
  CONTAINER_EXITED: ended,
  CONTAINER_UNKNOWN: () => ({ state: 'unknown', reason: 'crictl does not know the state of its container' }),
};

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

const containerFrom = (row: unknown): Container | undefined => {
  if (!isRecord(row) || typeof row['state'] !== 'string') return undefined;
  const attempt = isRecord(row['metadata']) ? Number(row['metadata']['attempt'] ?? 0) : 0;
  const pod = isRecord(row['labels']) ? String(row['labels']['io.kubernetes.pod.name'] ?? '') : '';
  // Nanoseconds since 1970 as text.
  return { state: row['state'], pod, createdMs: Number(row['createdAt'] ?? 0) / 1e6, attempt };
};

const containersIn = (text: string): Container[] => {
  try {
    const answer: unknown = JSON.parse(text);
    const rows = isRecord(answer) ? answer['containers'] : undefined;
    return Array.isArray(rows) ? rows.flatMap((row) => containerFrom(row) ?? []) : [];
  } catch {
    return [];
  }
};

/** The name in the manifest, to which the kubelet adds that of its node, and when the manifest came to its place. */
type Pod = { readonly name: string; readonly sinceMs: number };
/**
 * The state that the newest container of the pod tells, of those that were made since its manifest came to its place: an older one is the
 * version before. Undefined: none was made yet, or it cannot be told which are the member's. Pure.
 */
export const crictlState = (text: string, { name, sinceMs }: Pod): ProcessState | undefined => {
  if (name === '') return undefined;
  const newest = containersIn(text)
    .filter(({ pod, createdMs }) => pod.startsWith(`${name}-`) && createdMs >= sinceMs)
    .toSorted((a, b) => b.createdMs - a.createdMs)[0];
  return newest === undefined ? undefined : states[newest.state]?.(newest);
};
