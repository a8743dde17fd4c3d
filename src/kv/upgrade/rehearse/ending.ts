import { type Result, recordResult } from '../../../core/result.ts';
import type { RehearsalResult } from './rehearse.ts';

/** How a rehearsal ended; it went through when the copy has every key that it began with. */
export const rehearsalEnding = (result: RehearsalResult, kept: string): Result => {
  const { report } = result;
  const isWhole = result.keys_after === undefined || result.keys_after >= result.keys_before;
  const isGood = result.outcome === 'done' && isWhole;
  const away =
    report?.members.flatMap(({ name, down_ms }) =>
      down_ms === undefined ? [] : [`${name} ${down_ms} ms`],
    ) ?? [];
  const text = [
    isGood
      ? `The rehearsal went through on ${result.mode}: ${result.message}.`
      : `The rehearsal did not go through (${result.mode}): ${result.message}`,
    `keys: ${result.keys_before} before, ${result.keys_after ?? 'not readable'} after`,
    ...(report === undefined
      ? []
      : [`took ${(report.duration_ms / 1000).toFixed(1)} s; members unavailable for: ${away.join(', ')}`]),
    ...(report?.canary === undefined
      ? []
      : [
          `canary writes ${report.canary.writes}, failed ${report.canary.failed}, longest gap ${report.canary.longest_gap_ms} ms`,
        ]),
    ...(report === undefined ? [] : [`report ${kept}/report.html`]),
  ].join('\n');
  return recordResult(
    { ...result, ok: isGood, directory: kept },
    { text, name: 'outcome' },
    isGood ? undefined : 'no',
  );
};
