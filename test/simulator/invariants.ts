import { exitCodes } from '../../src/core/problem.ts';
import { type RegisterCall, brokenRegisters } from '../support/linearizable.ts';

/**
 * The invariants that must hold after every history. The name of each function is the invariant. If an invariant is
 * violated, the function returns the observed state.
 */

/**
 * The state is the acknowledged value or a newer attempted value. `tried` is in the order of the attempts;
 * `acknowledged` is the last confirmed value.
 */
export const whatWasAcknowledgedIsKept = (
  name: string,
  acknowledged: number,
  tried: number,
  found: number | undefined,
): string[] =>
  (found ?? 0) >= acknowledged && (found ?? 0) <= tried
    ? []
    : [`${name}: ${acknowledged} was acknowledged, ${tried} tried, and ${found ?? 'nothing'} is there`];

export const aFileIsOldOrNewAndNeverTorn = (
  path: string,
  text: string | undefined,
  isWhole: (text: string) => boolean,
): string[] =>
  text === undefined || isWhole(text)
    ? []
    : [`${path} holds neither the old nor the new text: ${JSON.stringify(text.slice(0, 80))}`];

export const aSecretFileIsReadableByItsOwnerOnly = (path: string, mode: number | undefined): string[] =>
  mode === undefined || (mode & 0o077) === 0 ? [] : [`${path} has mode ${mode.toString(8)}`];

type Ended = { readonly kind: string; readonly error?: unknown; readonly value?: unknown };
const endOf = ({ kind, error, value }: Ended): string => {
  if (kind === 'failed') return String((error as Error).stack);
  return kind === 'killed' ? kind : JSON.stringify(value);
};
/** The process must return undefined or exit code 0. */
export const afterACrashTheNextCommandSucceeds = (name: string, ended: Ended): string[] => {
  const code = (ended.value as { code?: number } | undefined)?.code ?? 0;
  return ended.kind === 'done' && code === 0 ? [] : [`${name} after the crash: ${endOf(ended)}`];
};

export const aFailureIsExplained = (name: string, code: number, stderr: string): string[] =>
  code === 1 || /unexpected/i.test(stderr)
    ? [`${name} ended with ${code} and says: ${stderr.slice(0, 400)}`]
    : [];

export const whatIsKeptHasNoGap = (name: string, found: readonly number[]): string[] => {
  const missing =
    found.length === 0
      ? []
      : Array.from({ length: Math.max(...found) }, (_, i) => i + 1).filter((n) => !found.includes(n));
  return missing.length === 0 ? [] : [`${name}: ${missing.join(', ')} of ${Math.max(...found)} are missing`];
};

export const eachRowIsCarriedOutOnce = (rows: readonly string[], found: readonly string[]): string[] =>
  rows.flatMap((row) => {
    const count = found.filter((one) => one === row).length;
    return count === 1 ? [] : [`row ${row} was carried out ${count} times`];
  });

export const nothingIsThereTwice = (what: string, names: readonly string[]): string[] => {
  const twice = names.filter((name, i) => names.indexOf(name) !== i);
  return twice.length === 0 ? [] : [`${what} twice: ${twice.join(', ')}`];
};

export const theEndIsWhatWasAskedFor = (what: string, found: unknown, asked: unknown): string[] =>
  JSON.stringify(found) === JSON.stringify(asked)
    ? []
    : [`${what} is ${JSON.stringify(found)}, and ${JSON.stringify(asked)} was asked for`];

export const aSecretIsNowhereInPlainText = (
  secrets: readonly string[],
  files: ReadonlyMap<string, string>,
): string[] =>
  [...files].flatMap(([path, text]) =>
    secrets.some((secret) => text.includes(secret)) ? [`${path} shows a secret`] : [],
  );

type Other = {
  readonly member: string;
  /** The time at which the member stopped, if it is down. */
  readonly ended?: number;
  /** The time at which the run sent its last version request to this member. */
  readonly looked: number;
};
/**
 * The run may stop a member only if it checked every other member after it wrote the journal line of that stop.
 * Numbers are events in their order. The run could not have observed a member that stopped after the check.
 */
export const aMemberIsStoppedAfterALookAtTheOthers = (
  { member, begun }: { readonly member: string; readonly begun: number },
  others: readonly Other[],
): string[] => [
  ...others
    .filter(({ looked }) => looked < begun)
    .map((other) => `${member} was stopped without a look at ${other.member}`),
  ...others
    .filter(({ looked, ended }) => looked >= begun && ended !== undefined && ended < looked)
    .map((other) => `${member} was stopped while ${other.member} was down`),
];

export const membersDownAtOnce = (most: number, allowed: number): string[] =>
  most <= allowed ? [] : [`${most} members were down at once`];

export const clientsSeeALinearizableStore = (
  history: ReadonlyMap<string, readonly RegisterCall[]>,
): string[] =>
  brokenRegisters(history).map(
    ([key, calls]) => `no order explains what clients saw of ${key}: ${JSON.stringify(calls.slice(-12))}`,
  );

/** The new version of the member never joins the cluster. */
export const aHealthCheckPassesOnlyWhatIsHealthy = (member: string, runsNewVersion: boolean): string[] =>
  runsNewVersion ? [`the health check of ${member} has passed, and its new version is never healthy`] : [];

/**
 * A resume completes the remaining steps of a killed run without rolling back. If the kill was early, the first resume
 * may not find a run.
 */
export const theFirstResumeFinishes = (ends: readonly (number | string)[]): string[] => {
  const [first, ...rest] = ends[0] === exitCodes['not-found'].code ? ends.slice(1) : ends;
  return first === 0 && rest.length === 0
    ? []
    : [`after a kill of the run, the next ones ended with ${ends.join(', ')}`];
};

/** The data of each member before the restore. A second swap would keep the data that the first swap created. */
export const whatIsKeptAsideIsThereOnce = (
  members: readonly string[],
  kept: ReadonlyMap<string, readonly string[]>,
): string[] =>
  members.flatMap((name) => {
    const found = (kept.get(name) ?? []).join(', ');
    return found === 'all' ? [] : [`kept aside of ${name}: ${found === '' ? 'nothing' : found}`];
  });

export const nothingOfTheRestoreIsLeft = (paths: readonly string[]): string[] =>
  paths.filter((path) => path.includes('.restoring')).map((path) => `${path} is left`);
