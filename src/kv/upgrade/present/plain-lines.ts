import { kindOf } from '../plan-kind.ts';
import type { UpgradeEvent } from '../../engine/types.ts';

const seconds = (ms: number): string => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`);

/** One event as one plain line; undefined for what only a table or a report shows. */
export const lineOf = (event: UpgradeEvent): string | undefined => {
  switch (event.event) {
    case 'run-started':
      return `${event.action === 'upgrade' ? kindOf(event.plan) : event.action} ${event.action === 'rollback' ? `${event.plan.to} → ${event.plan.from}` : `${event.plan.from} → ${event.plan.to}`}, run ${event.run}, journal ${event.journal}`;
    case 'step-started':
      return `[${event.number}/${event.count}] ${event.step.title}`;
    case 'step-finished':
      if (event.was_done_before === true) return undefined;
      return `      done in ${seconds(event.duration_ms)}${event.detail === undefined || event.detail === '' ? '' : ` (${event.detail})`}`;
    case 'step-failed':
      return `      failed: ${event.reason}`;
    case 'member-up':
      return `      ${event.member} is healthy again after ${seconds(event.down_ms)}`;
    case 'leader-changed':
      return `      elected leader: ${event.to}`;
    case 'gate-check':
      return event.ok === true ? undefined : `      ${event.member}: ${event.check}: ${event.detail}`;
    case 'log-line':
      return event.expected ? undefined : `      log of ${event.member}: ${event.line}`;
    case 'waiting':
      return `      ${seconds(event.remaining_ms)} left`;
    case 'reverting':
      return `${event.member} is rolled back: ${event.reason}`;
    case 'reverted':
      return `${event.member} runs its old version again after ${seconds(event.duration_ms)}`;
    case 'note':
      return event.text;
    case 'run-finished':
      return `${event.outcome}: ${event.message}`;
    default:
      return undefined;
  }
};
