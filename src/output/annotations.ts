import type { CheckFinding } from '../core/finding.ts';

/** More than this per run no CI service shows. */
const MOST = 50;

const data = (text: string): string =>
  text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const property = (text: string): string => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

const commands = { fail: 'error', warn: 'warning', unknown: 'notice', pass: undefined } as const;

/** Lines that GitHub puts beside the line of the file. Pure. */
export const annotations = (findings: readonly CheckFinding[]): string[] =>
  findings
    .flatMap((one) => {
      const command = commands[one.level];
      if (command === undefined) return [];
      const properties = [
        ...(one.file === undefined ? [] : [`file=${property(one.file)}`]),
        ...(one.line === undefined ? [] : [`line=${one.line}`]),
        ...(one.column === undefined ? [] : [`col=${one.column}`]),
        `title=${property(one.subject === undefined ? one.rule : `${one.rule}: ${one.subject}`)}`,
      ];
      const text = one.hint === undefined ? one.message : `${one.message} (${one.hint})`;
      return [`::${command} ${properties.join(',')}::${data(text)}`];
    })
    .slice(0, MOST);
