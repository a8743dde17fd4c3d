import type { Host } from '../platform/host.ts';
import type { Form } from './forms.ts';

export type Level = 'I' | 'N' | 'W' | 'E' | 'C';
export type MemberLog = (level: Level, source: string, text: string) => void;
const words: Readonly<Record<Level, string>> = { I: 'info', N: 'info', W: 'warn', E: 'error', C: 'fatal' };

/** `2026-03-31 12:30:00.123456 I | rafthttp: …` up to 3.4, one JSON object a line from 3.5 on. */
export const logLine = (form: Form, atMs: number, level: Level, source: string, text: string): string => {
  const iso = new Date(atMs).toISOString();
  if (form.logLines === 'json')
    return JSON.stringify({ level: words[level], ts: iso, caller: source, msg: text });
  return `${iso.slice(0, 10)} ${iso.slice(11, 23)}000 ${level} | ${source}: ${text}`;
};

/** Writes to stderr, as the real servers do; the one who starts the process decides which file that is. */
export const memberLog = (host: Host, form: Form): MemberLog => {
  return (level, source, text) => {
    // The log must never end the member: a reader that went away is ignored.
    host.terminal.stderr.write(`${logLine(form, host.now(), level, source, text)}\n`).catch(() => {});
  };
};
