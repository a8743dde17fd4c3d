import { type Field, type Fields, bare } from '../core/field.ts';
import type { Operation, Service } from '../core/operation.ts';
import type { Block, Page } from '../core/result.ts';

/** One field of a reference entry: `name  text, at most 128 characters, required`. */
type EntryField = {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  readonly about: string;
};
type Entry = {
  readonly command: string;
  readonly summary: string;
  readonly request: string;
  readonly source: string;
  readonly parameters: readonly EntryField[];
  readonly query: readonly EntryField[];
  readonly body: readonly EntryField[];
  readonly success: number;
  readonly returns: string;
  readonly errors: readonly string[];
  readonly deprecated: string | undefined;
  readonly extension: boolean;
};

/** A field's type in words: `[uuid]`, `text(128)`, `done | in progress | to do`, `Label`. */
const typeText = (field: Field): string => {
  const end = field.nullable ? ' or null' : '';
  if (field.type === 'ref') return field.name + end;
  const inner = bare(field);
  switch (inner.type) {
    case 'string':
      return (
        (inner.enum
          ? inner.enum.join(' | ')
          : (inner.format ?? `text${inner.max === undefined ? '' : `(${inner.max})`}`)) + end
      );
    case 'integer':
    case 'number': {
      const range =
        inner.min === undefined && inner.max === undefined ? '' : ` ${inner.min ?? ''}..${inner.max ?? ''}`;
      return `${inner.type}${range}${end}`;
    }
    case 'array':
      return `[${typeText(inner.items)}]${end}`;
    case 'map':
      return `map of ${typeText(inner.values)}${end}`;
    case 'object':
      return (inner.name ?? `{${Object.keys(inner.fields).join(', ')}}`) + end;
    default:
      return inner.type + end;
  }
};

const aboutText = (field: Field): string =>
  [
    field.summary ?? '',
    field.default === undefined ? '' : `default ${field.default}`,
    field.deprecated === undefined
      ? ''
      : `deprecated${field.deprecated === '' ? '' : `, use ${field.deprecated}`}`,
  ]
    .filter((part) => part !== '')
    .join('; ');
const fieldsOf = (fields: Fields | undefined): EntryField[] =>
  Object.entries(fields ?? {}).map(([name, field]) => ({
    name,
    type: typeText(field),
    required: field.required ?? false,
    about: aboutText(field),
  }));

/**
 * A field that only the service sets is not part of a request, even if the document has one schema for both.
 */
const settable = (fields: Fields | undefined): Fields =>
  Object.fromEntries(
    Object.entries(fields ?? {}).filter(([, field]) => !field.outputOnly && !field.readOnly),
  );

/** All facts about one endpoint, for `opsctl reference` and the written reference. */
export const entryOf = (service: Service, words: readonly string[], operation: Operation): Entry => ({
  command: ['opsctl', ...words].join(' '),
  summary: operation.summary,
  request: `${operation.method} ${service.basePath}${operation.path}`,
  source: operation.cites,
  parameters: fieldsOf(operation.params),
  query: fieldsOf(operation.query),
  body: fieldsOf(settable(operation.body)),
  success: operation.ok,
  returns: operation.returns ? typeText(operation.returns) : '',
  errors: [...Object.keys(service.refusals?.meanings ?? {}), ...(operation.errors ?? [])],
  deprecated: operation.deprecated,
  extension: operation.extension ?? false,
});

const fieldLines = (title: string, fields: readonly EntryField[]): string[] =>
  fields.length === 0
    ? []
    : [
        '',
        `${title}:`,
        ...fields.map(
          (f) =>
            `  ${f.name}  ${f.type}${f.required ? ', required' : ''}${f.about === '' ? '' : `  ${f.about}`}`,
        ),
      ];

/** The entry as a page of text. */
export const entryText = (entry: Entry): string =>
  [
    `${entry.command}`,
    `${entry.summary}${entry.deprecated === undefined ? '' : ` (deprecated${entry.deprecated === '' ? '' : `: use ${entry.deprecated}`})`}`,
    '',
    `${entry.request} → ${entry.success}${entry.returns === '' ? '' : ` ${entry.returns}`}`,
    `Source: ${entry.source}${entry.extension ? ' (extension)' : ''}`,
    ...fieldLines('Path', entry.parameters),
    ...fieldLines('Query', entry.query),
    ...fieldLines('Body', entry.body),
    '',
    `Errors: ${entry.errors.join(', ')}`,
    '',
  ].join('\n');

/**
 * man(7): a line that starts with a dot or a quote is a request, a backslash is an escape, and a dash is a
 * hyphen.
 */
const escapeRoff = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/`([^`]*)`/g, '\\fB$1\\fR')
    .replaceAll(/^([.'])/gm, '\\&$1')
    // A long address may be broken behind its slashes.
    .replaceAll(/\S{40,}/g, (word) => word.replaceAll('/', '/\\:'));
/** One line of a text: an empty line ends the paragraph, and spaces at the beginning stay. */
const textLine = (line: string, at: number, lines: readonly string[]): string[] => {
  if (line.trim() === '') return ['.PP'];
  const text = escapeRoff(line).replace(/^(?= )/, '\\&');
  return at === 0 || lines[at - 1]?.trim() === '' ? [text] : ['.br', text];
};
const blockLines = (block: Block): string[] => {
  switch (block.kind) {
    case 'heading':
      return ['.PP', `\\fB${escapeRoff(block.text)}\\fR`];
    case 'text':
      return ['.PP', ...block.text.split('\n').flatMap(textLine)];
    case 'terms':
      return block.rows.flatMap(([term, text]) =>
        text === ''
          ? ['.PP', '.RS 4', escapeRoff(term.trim()), '.RE']
          : ['.TP', `\\fB${escapeRoff(term.trim())}\\fR`, escapeRoff(text)],
      );
    case 'shell':
      return [
        ...(block.note === undefined ? [] : ['.PP', `${escapeRoff(block.note)}:`]),
        '.PP',
        '.RS 4',
        '.nf',
        ...block.lines.map(escapeRoff),
        '.fi',
        '.RE',
      ];
  }
};
/**
 * Returns the blocks of one command as sections. The text between the synopsis and the next heading is the
 * description.
 */
const commandSections = (summary: string, { blocks }: Page): string[] => {
  const [first, synopsis, ...rest] = blocks;
  const end = rest.findIndex(({ kind }) => kind === 'heading');
  const description = end < 0 ? rest : rest.slice(0, end);
  const section = (block: Block): string[] =>
    block.kind === 'heading' ? [`.SH "${escapeRoff(block.text.toUpperCase())}"`] : blockLines(block);
  return [
    '.SH "SYNOPSIS"',
    ...(synopsis === undefined || first?.kind !== 'heading' ? [] : blockLines(synopsis)),
    '.SH "DESCRIPTION"',
    escapeRoff(`${summary}.`),
    ...description.flatMap(blockLines),
    ...(end < 0 ? [] : rest.slice(end).flatMap(section)),
  ];
};
/** Without the paragraphs right after a heading: mandoc rejects them. */
const withoutEmptyParagraphs = (lines: readonly string[]): string[] =>
  lines.filter((line, at) => line !== '.PP' || !lines[at - 1]?.startsWith('.SH'));
export type ManPage = {
  readonly name: string;
  readonly summary: string;
  /** One page becomes the sections of the manual page; each of several becomes one section. */
  readonly pages: readonly Page[];
  /** Names of related manual pages. */
  readonly seeAlso?: readonly string[];
};
/** One manual page. `date` is the day of the release, as `2026-12-01`. */
export const manPage = (
  { name, summary, pages, seeAlso = [] }: ManPage,
  { version, date }: { readonly version: string; readonly date: string },
): string => {
  const [only, ...others] = pages;
  const lines = [
    `.TH "${name.toUpperCase().replaceAll('"', '')}" "1" "${date}" "opsctl ${version}" "opsctl"`,
    // Left-aligned and unhyphenated: a flag or an address that is broken cannot be copied.
    '.ad l',
    '.nh',
    '.SH NAME',
    `${escapeRoff(name)} \\- ${escapeRoff(summary)}`,
    ...(only !== undefined && others.length === 0
      ? commandSections(summary, only)
      : pages.flatMap((page) => [
          `.SH "${escapeRoff(page.title.toUpperCase()).replaceAll('"', '')}"`,
          escapeRoff(page.summary),
          ...page.blocks.flatMap(blockLines),
        ])),
    ...(seeAlso.length === 0
      ? []
      : [
          '.SH "SEE ALSO"',
          ...seeAlso.map(
            (other, at) => `.BR ${escapeRoff(other)} (1)${at === seeAlso.length - 1 ? '' : ' ,'}`,
          ),
        ]),
  ];
  return `${withoutEmptyParagraphs(lines).join('\n')}\n`;
};

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const blockText = (block: Block): string => {
  switch (block.kind) {
    case 'heading':
      return `### ${block.text}\n`;
    case 'text':
      return `${block.text}\n`;
    case 'terms':
      return block.rows.every(([, text]) => text === '')
        ? `\`\`\`text\n${block.rows.map(([term]) => term.trim()).join('\n')}\n\`\`\`\n`
        : `| | |\n|---|---|\n${block.rows.map(([term, text]) => `| \`${cell(term.trim())}\` | ${cell(text)} |`).join('\n')}\n`;
    case 'shell':
      return `${block.note === undefined ? '' : `${block.note}:\n\n`}\`\`\`sh\n${block.lines.join('\n')}\n\`\`\`\n`;
  }
};
/** Pages as one Markdown document. */
export const pagesMarkdown = (title: string, pages: readonly Page[]): string =>
  `# ${title}\n\n${pages
    .map((page) => `## ${page.title}\n\n${page.summary}\n\n${page.blocks.map(blockText).join('\n')}`)
    .join('\n')}`;
