import { formatRow } from '../core/format.ts';
import { type Problem, invalidArguments, problem } from '../core/problem.ts';
import type { Host } from '../platform/host.ts';
import { formatOf } from './formats.ts';
import type { OutputOptions } from './types.ts';

/** Combinations that would silently leave one of the flags without effect. Pure. */
export const outputProblems = ({ format, columns, jq, template }: OutputOptions): Problem[] => {
  if (columns?.length === 0)
    return [problem('--columns', 'required', 'names no column', 'write them like id,name')];
  const other = [jq && '--jq', columns && '--columns', format && `-o ${format}`].find(Boolean);
  if (template !== undefined && other)
    return [
      problem(
        '--template',
        'exclusive',
        `cannot be given together with ${other}`,
        'the template is the format',
      ),
    ];
  const { isJson, isOneField } = format === undefined ? { isJson: true } : formatRow(format);
  if (jq !== undefined && !isJson) {
    return [
      problem(
        '--jq',
        'exclusive',
        `works on JSON and cannot be given together with -o ${format}`,
        '-o ndjson runs it on each row',
      ),
    ];
  }
  if (jq !== undefined && columns !== undefined)
    return [
      problem('--columns', 'exclusive', 'cannot be given together with --jq', "--jq 'map({id, name})'"),
    ];
  if (columns !== undefined && isOneField)
    return [problem('--columns', 'exclusive', `cannot be given together with -o ${format}`)];
  return [];
};

/**
 * Runs before a command: problems with its output must be found before a change is made. The jq process that
 * compiled the program then waits for its input.
 */
export const checkOutput = async (options: OutputOptions, host: Host): Promise<void> => {
  const problems = outputProblems(options);
  if (problems.length > 0) throw invalidArguments(problems);
  if (options.template !== undefined) await (await import('./template.ts')).checkTemplate(options.template);
  if (options.jq === undefined) return;
  const run = await (await import('./jq.ts')).startFilter(host, options.jq, formatOf(options, host));
  if (options.filter === undefined) await run.kill();
  else options.filter.run = run;
};
