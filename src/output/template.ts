import { invalidArguments, messageOf, problem } from '../core/problem.ts';
import { cellText } from './types.ts';

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
