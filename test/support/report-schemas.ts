/**
 * Schemas of the report formats, transcribed by hand: SARIF 2.1.0 (OASIS) for the objects that opsctl writes, and
 * the JUnit schema that Jenkins publishes. No package of the project contains them. Both are closed: a new property
 * needs a line here, with the rule of its specification.
 */
import { Ajv } from 'ajv';
import { XMLParser, XMLValidator } from 'fast-xml-parser';

const text = { type: 'string' } as const;
const positive = { type: 'integer', minimum: 1 } as const;
const closed = (properties: object, ...required: string[]) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
/** 3.11: a message needs a text or an ID. opsctl has no table of messages. */
const message = closed({ text, markdown: text }, 'text');
/** 3.30: columns and end positions require a start line. */
const region = {
  ...closed({ startLine: positive, startColumn: positive, endLine: positive, endColumn: positive }),
  dependentRequired: { startColumn: ['startLine'], endLine: ['startLine'], endColumn: ['startLine'] },
};
const location = closed({
  physicalLocation: closed(
    { artifactLocation: closed({ uri: { ...text, pattern: '^[^\\s\\\\]+$' }, uriBaseId: text }), region },
    'artifactLocation',
  ),
  logicalLocations: { type: 'array', items: closed({ name: text, fullyQualifiedName: text, kind: text }) },
});
const result = {
  ...closed(
    {
      ruleId: text,
      ruleIndex: { type: 'integer', minimum: -1 },
      kind: { enum: ['notApplicable', 'pass', 'fail', 'review', 'open', 'informational'] },
      level: { enum: ['none', 'note', 'warning', 'error'] },
      message,
      locations: { type: 'array', items: location },
      partialFingerprints: { type: 'object', additionalProperties: text },
    },
    'message',
  ),
  // 3.27.10: only a failure has a level.
  if: { properties: { kind: { const: 'fail' } } },
  else: { properties: { level: { const: 'none' } } },
};
const rule = closed(
  { id: text, shortDescription: message, fullDescription: message, help: message, helpUri: text },
  'id',
);
const driver = closed(
  {
    name: text,
    version: text,
    informationUri: text,
    rules: { type: 'array', items: rule, uniqueItems: true },
  },
  'name',
);
const run = closed(
  {
    tool: closed({ driver }, 'driver'),
    columnKind: { enum: ['utf16CodeUnits', 'unicodeCodePoints'] },
    results: { type: 'array', items: result },
  },
  'tool',
);
const sarif = closed(
  { $schema: text, version: { const: '2.1.0' }, runs: { type: 'array', items: run } },
  'version',
  'runs',
);
const isSarif = new Ajv({ allErrors: true, strict: false }).compile(sarif);

/** Returns what the SARIF schema rejects. */
export const sarifFaults = (log: string): string[] => {
  const data: unknown = JSON.parse(log);
  return isSarif(data) ? [] : (isSarif.errors ?? []).map((one) => `${one.instancePath} ${one.message}`);
};

/** Attributes and elements by element. `*`: the attribute is required. */
const junit: Readonly<Record<string, { readonly attributes: string; readonly elements: string }>> = {
  testsuites: { attributes: 'name time tests failures errors skipped', elements: 'testsuite' },
  testsuite: {
    attributes: 'name* tests* failures errors skipped time timestamp hostname id package file',
    elements: 'properties testcase system-out system-err',
  },
  testcase: {
    attributes: 'name* classname* time status assertions file line',
    elements: 'skipped error failure system-out system-err',
  },
  failure: { attributes: 'type message', elements: '' },
  error: { attributes: 'type message', elements: '' },
  skipped: { attributes: 'type message', elements: '' },
  'system-out': { attributes: '', elements: '' },
  'system-err': { attributes: '', elements: '' },
};
type Node = Readonly<Record<string, unknown>>;
type Element = {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly below: Element[];
};
const elementOf = (node: Node): Element[] =>
  Object.entries(node).flatMap(([name, below]) =>
    name === ':@' || name.startsWith('#') || name.startsWith('?')
      ? []
      : [
          {
            name,
            attributes: (node[':@'] ?? {}) as Record<string, string>,
            below: (below as Node[]).flatMap(elementOf),
          },
        ],
  );
const elementFaults = ({ name, attributes, below }: Element): string[] => {
  const row = junit[name];
  if (row === undefined) return [`<${name}> is not an element of the schema`];
  const known = row.attributes.split(' ');
  return [
    ...Object.keys(attributes)
      .filter((each) => !known.includes(each) && !known.includes(`${each}*`))
      .map((each) => `<${name}> has the attribute ${each}`),
    ...known
      .filter((each) => each.endsWith('*') && attributes[each.slice(0, -1)] === undefined)
      .map((each) => `<${name}> has no ${each.slice(0, -1)}`),
    ...below
      .filter((each) => !row.elements.split(' ').includes(each.name))
      .map((each) => `<${each.name}> is inside <${name}>`),
    ...below.flatMap(elementFaults),
  ];
};
const inside = (element: Element, name: string): number =>
  element.below.filter((each) => each.name === name).length +
  element.below.reduce((sum, each) => sum + inside(each, name), 0);
/** GitLab and Jenkins show the counts of the attributes, so they must be those of the elements. */
const countFaults = (element: Element): string[] =>
  Object.entries({ tests: 'testcase', failures: 'failure', errors: 'error', skipped: 'skipped' })
    .filter(([attribute, name]) => Number(element.attributes[attribute]) !== inside(element, name))
    .map(([attribute]) => `<${element.name}>: ${attribute} does not count its elements`);

/** Returns what the JUnit schema rejects. */
export const junitFaults = (xml: string): string[] => {
  const isXml = XMLValidator.validate(xml);
  if (isXml !== true) return [isXml.err.msg];
  const parser = new XMLParser({ preserveOrder: true, ignoreAttributes: false, attributeNamePrefix: '' });
  const [root, ...others] = (parser.parse(xml) as Node[]).flatMap(elementOf);
  if (root?.name !== 'testsuites' || others.length > 0) return ['the root is not one <testsuites>'];
  return [...elementFaults(root), ...[root, ...root.below].flatMap(countFaults)];
};
