import {
  type Members,
  badgeMembers,
  choiceMembers,
  fieldMembers,
  labelMembers,
  permissionMembers,
} from './format.ts';

/** The schema of exported files, beside them: editors find it by the first line of each file. */
export const SCHEMA_FILE = 'labels.schema.json';
export const schemaLine = `# yaml-language-server: $schema=./${SCHEMA_FILE}\n`;

const objectOf = (members: Members) => ({
  type: 'object',
  properties: Object.fromEntries(
    Object.entries(members).map(([name, { summary, schema }]) => [name, { description: summary, ...schema }]),
  ),
  required: Object.entries(members).flatMap(([name, member]) => (member.required ? [name] : [])),
  additionalProperties: false,
});

/** JSON Schema (draft 7, which editors know best) of one label definition, from the table of its members. Pure. */
export const definitionSchema = () => ({
  $schema: 'http://json-schema.org/draft-07/schema#',
  title: 'Label definition',
  description: 'Absent is untouched; null, [] or false is none.',
  ...objectOf(labelMembers),
  $defs: {
    field: objectOf(fieldMembers),
    choice: objectOf(choiceMembers),
    badge: {
      anyOf: [{ type: 'null' }, badgeMembers.color?.schema, objectOf(badgeMembers)],
    },
    permission: objectOf(permissionMembers),
  },
});

export const schemaText = (): string => `${JSON.stringify(definitionSchema(), undefined, 2)}\n`;
