import { formatRow } from '../core/format.ts';
import { type Problem, invalidArguments, problem, messageOf } from '../core/problem.ts';
import type { Host } from '../platform/host.ts';
import { formatOf } from './formats.ts';
import { type OutputOptions, cellText } from './types.ts';

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
  if (options.template !== undefined) await checkTemplate(options.template);
  if (options.jq === undefined) return;
  const run = await (await import('./jq.ts')).startFilter(host, options.jq, formatOf(options, host));
  if (options.filter === undefined) await run.kill();
  else options.filter.run = run;
};

const makeTemplateError = (error: unknown): Error => {
  const text = messageOf(error);
  return invalidArguments([
    problem(
      '--template',
      'format',
      `is not a valid Mustache template: ${text}`,
      "write fields like '{{name}} ({{id}})'",
    ),
  ]);
};

/** Before a command runs: a malformed template must be found before any change. */
export const checkTemplate = async (template: string): Promise<void> => {
  const { parse } = await import('./mustache-package.ts');
  try {
    parse(template);
  } catch (error) {
    throw makeTemplateError(error);
  }
};

/** `\n` and `\t` as people type them in single quotes. */
const readEscapes = (template: string): string => template.replaceAll('\\n', '\n').replaceAll('\\t', '\t');

/** Renders one value with the template, one line per value. The text is not escaped for HTML. */
export const templateText = async (data: unknown, template: string): Promise<string> => {
  const { render } = await import('./mustache-package.ts');
  const text = render(readEscapes(template), data, undefined, { escape: cellText });
  return text.endsWith('\n') ? text : `${text}\n`;
};
