/** Words that YAML reads as something other than text. */
const reserved = /^(true|false|null|yes|no|on|off|y|n)$/i;
/** Text that needs no quotes: it begins with a letter and has nothing that YAML gives a meaning. */
const plain = /^[\p{L}_][\p{L}\p{N}_ .,()/&+'-]*$/u;
/** Lines that a block of text keeps as they are. */
const keptLine = /^(\S(.*\S)?)?$/;

const isBlock = (text: string): boolean =>
  /^\S/.test(text) &&
  text.includes('\n') &&
  !text.endsWith('\n\n') &&
  !/[\p{Cc}\p{Cf}\u2028\u2029]/u.test(text.replaceAll('\n', '')) &&
  text.split('\n').every((line) => keptLine.test(line));

const blockText = (text: string, indent: string): string => {
  const isEnded = text.endsWith('\n');
  const lines = (isEnded ? text.slice(0, -1) : text).split('\n');
  return `${isEnded ? '|' : '|-'}\n${lines.map((line) => (line === '' ? '' : `${indent}${line}`)).join('\n')}`;
};

/** What JSON leaves as it is and YAML does not: control characters, ends of lines of other kinds, marks of the byte order. */
const unusual = /[\x7f-\x9f\u2028\u2029\ufeff]/g;
const quoted = (text: string): string =>
  JSON.stringify(text).replace(unusual, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);

const scalar = (value: unknown, indent: string): string => {
  if (typeof value !== 'string') return JSON.stringify(value);
  if (plain.test(value) && !reserved.test(value) && !value.endsWith(' ')) return value;
  return isBlock(value) ? blockText(value, indent) : quoted(value);
};

const isEmpty = (value: object): boolean => Object.keys(value).length === 0;

const member = (key: string, value: unknown, indent: string): string => {
  if (typeof value !== 'object' || value === null) return `${key}: ${scalar(value, `${indent}  `)}\n`;
  if (isEmpty(value)) return `${key}: ${JSON.stringify(value)}\n`;
  return `${key}:\n${yamlText(value, `${indent}  `)}`;
};

const item = (value: unknown, indent: string): string => {
  if (typeof value !== 'object' || value === null) return `${indent}- ${scalar(value, `${indent}  `)}\n`;
  if (isEmpty(value)) return `${indent}- ${JSON.stringify(value)}\n`;
  return `${indent}- ${yamlText(value, `${indent}  `).slice(indent.length + 2)}`;
};

/**
 * A plain value as YAML in block style, keys in their order. Definitions are written by the thousand, and a general
 * writer takes several times the memory for them. Every text is read back as it was.
 */
export const yamlText = (value: object, indent = ''): string =>
  Array.isArray(value)
    ? value.map((one: unknown) => item(one, indent)).join('')
    : Object.entries(value)
        .filter(([, one]) => one !== undefined)
        .map(([key, one]) => `${indent}${member(key, one, indent)}`)
        .join('');
