import { createHmac } from 'node:crypto';
import type { UpgradeEvent } from '../../engine/types.ts';

export const noticeShapes = ['json', 'slack'] as const;
export type NoticeShape = (typeof noticeShapes)[number];

/** What somebody who does not watch wants to know: begin, each member, a pause, a rollback, the end. Nothing else is sent. */
export type Notice = {
  readonly event: 'run-started' | 'member-upgraded' | 'note' | 'reverting' | 'reverted' | 'run-finished';
  readonly at: string;
  readonly cluster: string;
  readonly run: string;
  readonly action: string;
  readonly from: string;
  readonly to: string;
  readonly text: string;
  readonly member?: string;
  readonly outcome?: string;
};
export type RunNamed = Pick<Notice, 'cluster' | 'run' | 'action' | 'from' | 'to'>;

const bodyOf = (event: UpgradeEvent): Pick<Notice, 'event' | 'text' | 'member' | 'outcome'> | undefined => {
  switch (event.event) {
    case 'run-started':
      return { event: 'run-started', text: `${event.action} begins` };
    case 'step-finished':
      return event.step.kind === 'gate' && event.was_done_before !== true
        ? {
            event: 'member-upgraded',
            member: event.step.member,
            text: `${event.step.member} runs the new version`,
          }
        : undefined;
    case 'note':
      return event.level === 'warn' ? { event: 'note', text: event.text } : undefined;
    case 'reverting':
      return {
        event: 'reverting',
        member: event.member,
        text: `${event.member} is rolled back: ${event.reason}`,
      };
    case 'reverted':
      return { event: 'reverted', member: event.member, text: `${event.member} runs its old version again` };
    case 'run-finished':
      return { event: 'run-finished', outcome: event.outcome, text: event.message };
    default:
      return undefined;
  }
};

/** Undefined for events that are nobody's news. Pure. */
export const noticeOf = (named: RunNamed, event: UpgradeEvent): Notice | undefined => {
  const body = bodyOf(event);
  return body === undefined ? undefined : { ...body, at: event.at, ...named };
};

/** Text that Slack would read as a link, a mention or a channel. */
const plain = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** The body of a request. Slack reads `text` of an incoming webhook. Pure. */
export const noticeBody = (notice: Notice, shape: NoticeShape): string => {
  if (shape === 'json') return JSON.stringify(notice);
  const { cluster, from, to, text, outcome } = notice;
  const end = outcome === undefined ? '' : `*${outcome}* `;
  return JSON.stringify({ text: `${end}${plain(`${cluster} ${from} → ${to}: ${text}`)}` });
};

/** `t=SECONDS,v1=HEX`: HMAC-SHA256 of `SECONDS.BODY`. The time is signed too, so that an old request can be told from a new one. Pure. */
export const signature = (secret: string, seconds: number, body: string): string =>
  `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`;
