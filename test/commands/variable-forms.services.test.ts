import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { forms } from '../../src/commands/mock/serve.ts';

const VALUES = [
  'plain',
  "it's",
  '$(touch ran) `touch ran` $HOME',
  "\\'; touch ran; '",
  'a\\b\\\\c',
  'a!!b ^x^y',
  '-n',
  '\u2018; touch ran; \u2019',
];
const shells = [
  ['sh', 'sh', []],
  ['sh', 'bash', ['--norc']],
  ['fish', 'fish', ['--no-config']],
] as const;
const hasProgram = (program: string): boolean => spawnSync(program, ['-c', 'exit 0']).status === 0;

test.each(shells.filter(([, program]) => hasProgram(program)))(
  'a variable in the form %s is read by %s as it is',
  (form, program, flags) => {
    for (const value of VALUES) {
      const script = `${forms[form]('NAME', value)}\nprintf '%s' "$NAME"`;
      expect(spawnSync(program, [...flags, '-c', script], { encoding: 'utf8' }).stdout).toBe(value);
    }
  },
);
test('a variable for PowerShell doubles each of its five single quotes', () => {
  expect(forms.powershell('NAME', "a'b\u2018c\u2019d\u201ae\u201bf")).toBe(
    "$env:NAME = 'a''b\u2018\u2018c\u2019\u2019d\u201a\u201ae\u201b\u201bf'",
  );
});
test('a line of a dotenv file contains one variable', () => {
  expect(forms.dotenv('NAME', 'a b')).toBe('NAME=a b');
  expect(() => forms.dotenv('NAME', 'a\nPATH=/tmp')).toThrow(/line break/);
});
