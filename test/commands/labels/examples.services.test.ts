import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { commands } from '../../../src/commands/labels/commands.ts';
import { answering, surrounding } from './around.ts';

/** Splits a line into the arguments that a shell passes; these lines quote with ' only. */
const words = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, plain]) => single ?? double ?? plain ?? '',
  );
const lines = commands.flatMap(({ examples = [] }) => examples.map(({ line }) => line));
const asked = answering({ confirm: () => true });

test('every command of a row has an example, except commands that need IDs', () => {
  const without = commands
    .filter(({ examples = [] }) => examples.length === 0)
    .map(({ path }) => path.slice(1).join(' '));
  expect(without).toEqual(['permissions batch-delete', 'revisions permissions batch-delete']);
});

test.each(lines)('%s works on the demo data', async (line) => {
  const at = await surrounding({ seed: 'demo' });
  try {
    const contract = `labels/${await at.id('Contract')}`;
    await at.server.send('POST', `/${contract}/permissions`, { email: 'reader@example.com', role: 'READER' });
    await at.file(
      'contract.yaml',
      (await at.run('export', 'Contract')).stdout.replace('State and parties', 'Parties and state'),
    );
    await mkdir(join(at.directory, 'labels'));
    const phases = (await at.run('export', 'Project phase')).stdout;
    await at.file('labels/phase.yaml', phases.replace('title: Project phase', 'title: Phase'));
    await at.file('permissions.csv', (await at.run('permissions', 'export', '-o', 'csv')).stdout);
    if (line.includes('--forget')) {
      await at.file('labels/old-label.yaml', 'title: Old label\n');
      await at.run('apply', '-f', 'labels/');
      await rm(join(at.directory, 'labels/old-label.yaml'));
    }
    if (line.includes('--plan')) await at.run('plan', '-f', 'labels/', '--out', 'plan.json');
    await at.file('readers.yaml', '- {email: reader@example.com, role: READER}\n');
    const [first = ''] = line.split(/ [>|] /);
    const { code, stderr } = await at.runOn(asked, ...words(first).slice(2));
    expect({ code, stderr: [0, 20].includes(code) ? '' : stderr }).toEqual({
      code: line.includes(' diff ') ? 20 : 0,
      stderr: '',
    });
  } finally {
    await at.close();
  }
});
