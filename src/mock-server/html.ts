import { escapeHtml } from '../core/text.ts';

/** Text that is HTML already. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}
type Part = string | number | Html | undefined | false | readonly Html[];
const renderPart = (part: Part): string => {
  if (part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  return typeof part === 'object' ? part.map(({ text }) => text).join('') : escapeHtml(String(part));
};
/** HTML whose values are escaped unless they are HTML themselves; there is no other way to write a page here. */
export const html = (texts: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(texts.map((text, i) => text + (i < parts.length ? renderPart(parts[i]) : '')).join(''));
