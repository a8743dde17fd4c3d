import { recordResult } from '../../kernel/result.ts';
import type { Command } from '../command.ts';
import { planFlags, prepare } from './planning.ts';

export const check: Command = {
  path: ['kv', 'check'],
  summary: 'Find everything that speaks against an upgrade now',
  about: 'Read-only. Every guard is asked and every finding is shown: pass, warn or stop, with what to do. Exit code 20 when one of them says stop.',
  flags: planFlags,
  examples: [{ line: 'opsctl kv check --cluster cluster.yaml --to 3.4', says: 'before anything is touched' }],
  run: async (context, values) => {
    const { made } = await prepare(context, values);
    const { findingsText } = await import('../../upgrade/texts.ts');
    const findings = made.findings;
    const count = (level: string): number => findings.filter((finding) => finding.level === level).length;
    const isGood = count('stop') === 0;
    const data = { ok: isGood, pass: count('pass'), warn: count('warn'), stop: count('stop'), findings };
    const closing = isGood ? 'Ready for an upgrade.' : `${count('stop')} finding${count('stop') === 1 ? '' : 's'} against an upgrade now.`;
    return recordResult(data, { text: `${findingsText(findings)}\n\n${closing}` }, isGood ? undefined : 'no');
  },
};
