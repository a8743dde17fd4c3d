import { describe, expect, test } from 'vitest';
import { labelsInMemory } from '../support/in-memory.ts';

const protectedLabel =
  'title: Contract\nstate: published\nfields:\n  - name: Phase\n    type: text\n    protect: true\n  - name: Notes\n    type: text\n';
const applied = async (text = protectedLabel) => {
  const at = labelsInMemory({ 'labels/contract.yaml': text });
  expect((await at.run(['apply', '-f', 'labels'])).code).toBe(0);
  return at;
};
const apply = ['apply', '-f', 'labels', '-o', 'json'];

describe('a protected field', () => {
  test.each([
    ['is missing', protectedLabel.replace(/ {2}- name: Phase[\s\S]*?true\n/, ''), []],
    [
      'is missing and pruned',
      protectedLabel.replace(/ {2}- name: Phase[\s\S]*?true\n/, ''),
      ['--prune', '--yes'],
    ],
    ['is disabled without its protection', protectedLabel.replace('protect: true', 'disabled: true'), []],
  ])('a protected field is kept when it %s in the file', async (_, text, more) => {
    const at = await applied();
    await at.write('labels/contract.yaml', text);
    const ran = await at.run([...apply, ...more]);
    expect([ran.code, ran.writes]).toEqual([10, []]);
    const [found] = ran.error().problems;
    expect([found.file, found.line > 1, found.message]).toEqual([
      'labels/contract.yaml',
      true,
      expect.stringContaining('"Phase" is protected'),
    ]);
  });

  test('can be removed after protect: false was applied', async () => {
    const at = await applied();
    await at.write('labels/contract.yaml', protectedLabel.replace('protect: true', 'protect: false'));
    expect((await at.run(apply)).code).toBe(0);
    await at.write('labels/contract.yaml', protectedLabel.replace(/ {2}- name: Phase[\s\S]*?true\n/, ''));
    expect((await at.run(apply)).code).toBe(0);
  });

  test('does not stop a change of other fields, or of itself', async () => {
    const at = await applied();
    await at.write(
      'labels/contract.yaml',
      protectedLabel
        .replace('name: Phase', 'name: Stage\n    was: Phase')
        .replace(/ {2}- name: Notes[\s\S]*/, ''),
    );
    expect((await at.run(apply)).code).toBe(0);
  });

  test('stops a publish of a draft that disables it, naming file and line', async () => {
    const at = await applied();
    const id = at.id('Contract');
    const [field] = at.send('GET', `/labels/${id}?view=LABEL_VIEW_FULL`).fields;
    at.send('POST', `/labels/${id}:delta`, {
      requests: [
        {
          disableField: {
            id: field.id,
            updateMask: '*',
            disabledPolicy: { hideInSearch: false, showInApply: false },
          },
        },
      ],
    });
    const ran = await at.run(['publish', 'Contract', '--yes', '-o', 'json']);
    expect([ran.code, ran.error().code, ran.writes]).toEqual([10, 'PROTECTED', []]);
    expect(ran.error().message).toMatch(/labels\.lock\.yaml:\d+, defined in contract\.yaml/);
    const shown = await at.run(['publish', 'Contract', '--yes']);
    expect([shown.code, shown.writes]).toEqual([10, []]);
    expect(shown.err).not.toContain(`revision ${at.label('Contract').revisionId}`);
  });

  test('stops the deletion of its label', async () => {
    const at = await applied();
    const ran = await at.run(['retire', 'Contract', '--yes', '--title', 'Contract', '-o', 'json']);
    expect([ran.code, ran.error().code, ran.writes]).toEqual([10, 'PROTECTED', []]);
    // The file decides, so the service is not asked for the locks of the label.
    expect(ran.requests.filter(({ path }) => path.includes('/locks'))).toEqual([]);
  });

  test('keeps its protection in an export of the directory', async () => {
    const at = await applied();
    expect((await at.run(['export', '--all', '-f', 'labels'])).code).toBe(0);
    expect(at.read('labels/contract.yaml')).toContain('protect: true');
  });
});

test('a protected label cannot be disabled by its file', async () => {
  const at = await applied('title: Contract\nstate: published\nprotect: true\n');
  await at.write('labels/contract.yaml', 'title: Contract\nstate: disabled\n');
  const ran = await at.run(apply);
  expect([ran.code, ran.writes, ran.error().problems[0].path]).toEqual([10, [], 'state']);
  await at.write('labels/contract.yaml', 'title: Contract\nstate: disabled\nprotect: true\n');
  expect((await at.run(['validate', '-f', 'labels'])).code).toBe(2);
  await at.write('labels/contract.yaml', 'title: Contract\nstate: disabled\nprotect: false\n');
  expect((await at.run(apply)).code).toBe(0);
});
