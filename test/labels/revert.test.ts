import { expect, test } from 'vitest';
import { labelsInMemory } from '../support/in-memory.ts';

const FILE = 'labels/a.yaml';
const LOCK = 'labels/labels.lock.yaml';
const lines = {
  head: ['title: A', 'state: published', 'fields:'],
  note: ['  - name: Note', '    type: text'],
  status: [
    '  - name: Status',
    '    type: selection',
    '    choices:',
    '      - Open',
    '      - {name: Signed}',
  ],
};
const whole = [...lines.head, ...lines.note, ...lines.status];
const without = (...gone: string[]): string[] => whole.filter((line) => !gone.includes(line));
const asText = (all: readonly string[]): string => `${all.join('\n')}\n`;
/** The parts that a user removes from the file and adds again. */
const cuts: Readonly<Record<string, string[]>> = {
  'a field': without(...lines.note),
  'a selection field': [...lines.head, ...lines.note],
  'a choice': without('      - {name: Signed}'),
  'a plain choice': without('      - Open'),
  'two parts': without(...lines.note, '      - Open'),
};
type Bed = ReturnType<typeof labelsInMemory>;
const apply = async (at: Bed, text: readonly string[], ...more: string[]) => {
  await at.write(FILE, asText(text));
  const ran = await at.run(['apply', '-f', 'labels', '--yes', '-o', 'json', ...more]);
  expect([ran.code, ran.err]).toEqual([0, expect.anything()]);
  return ran;
};
const statusOf = async (at: Bed, text: readonly string[]) => {
  await at.write(FILE, asText(text));
  const ran = await at.run(['diff', '-f', 'labels', '-o', 'json']);
  return [ran.code, ran.json().labels[0].status];
};
/** Returns the states of the parts in the service, by name. */
const states = (at: Bed): Readonly<Record<string, string>> => {
  const rows = at
    .label('A')
    .fields.flatMap((field: any) => [field, ...(field.selectionOptions?.choices ?? [])]);
  return Object.fromEntries(rows.map((one: any) => [one.properties.displayName, one.lifecycle.state]));
};
const enabled = { Note: 'PUBLISHED', Status: 'PUBLISHED', Open: 'PUBLISHED', Signed: 'PUBLISHED' };

for (const lock of [true, false])
  for (const [name, cut] of Object.entries(cuts))
    test(`apply enables ${name} that returns to the file ${lock ? 'with' : 'without'} a lock file`, async () => {
      const at = labelsInMemory({ [FILE]: asText(whole) });
      await apply(at, whole);
      if (lock) await at.run(['adopt', '-f', 'labels']);
      await apply(at, cut);
      expect(Object.values(states(at))).toContain('DISABLED');
      if (!lock) await at.remove(LOCK);
      expect(await statusOf(at, cut)).toEqual([0, 'same']);
      expect(await statusOf(at, whole)).toEqual([20, 'changed']);
      await apply(at, whole);
      expect(states(at)).toEqual(enabled);
      expect(await statusOf(at, whole)).toEqual([0, 'same']);
    });

test('a part that others disabled is drift, and --take theirs writes it into the file', async () => {
  const at = labelsInMemory({ [FILE]: asText(whole) });
  await apply(at, whole);
  await at.run(['adopt', '-f', 'labels']);
  const [note, status] = at.label('A').fields;
  const choice = status.selectionOptions.choices[0];
  at.send('POST', `/labels/${at.id('A')}:delta`, {
    requests: [
      { disableField: { id: note.id, disabledPolicy: {}, updateMask: '*' } },
      { disableSelectionChoice: { fieldId: status.id, id: choice.id, disabledPolicy: {}, updateMask: '*' } },
    ],
  });
  expect(await statusOf(at, whole)).toEqual([20, 'drifted']);
  const refused = await at.run(['apply', '-f', 'labels', '-o', 'json']);
  expect([refused.code, refused.error().code, refused.writes]).toEqual([10, 'CHANGED_MEANWHILE', []]);
  expect((await at.run(['apply', '-f', 'labels', '--take', 'theirs', '--yes'])).code).toBe(0);
  expect(at.read(FILE)?.match(/disabled: true/g)).toHaveLength(2);
  expect(states(at)).toEqual({ ...enabled, Note: 'DISABLED', Open: 'DISABLED' });
});
test('diff reports a part that the file disables and that is not published yet', async () => {
  const at = labelsInMemory({ [FILE]: asText(whole) });
  const draft = ['title: A', 'fields:', '  - {name: Note, type: text, disabled: true}'];
  await apply(at, draft);
  expect(await statusOf(at, draft)).toEqual([20, 'changed']);
});
