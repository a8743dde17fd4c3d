import { expect, test } from 'vitest';
import { limits } from '../../src/core/limits.ts';
import { safeName } from '../../src/tracker/files.ts';
import { covers } from '../support/covers.ts';

test.each([
  ['report.txt', 'report.txt'],
  ['.bashrc', '_bashrc'],
  ['-rf', '_rf'],
  ['..', 'file-7'],
  ['...', 'file-7'],
  ['', 'file-7'],
  ['  ', 'file-7'],
  [' .profile', '__profile'],
  ['../../etc/passwd', 'passwd'],
  ['/etc/passwd', 'passwd'],
  ['c:\\temp\\x.txt', 'x.txt'],
  ['a/', 'a'],
  ['a\u001b[2Jb', 'a_[2Jb'],
  ['a\u009b2Jb', 'a_2Jb'],
  ['a\u0000b\nc', 'a_b_c'],
  ['x\u202egpj.exe', 'x_gpj.exe'],
  ['x\u2066y\u061cz', 'x_y_z'],
  ['\u200b.bashrc', '_.bashrc'],
  ['\ufeff-rf', '_-rf'],
  ['half \ud800', 'half _'],
  ['CON', '_CON'],
  ['nul.txt', '_nul.txt'],
  ['Lpt1.tar.gz', '_Lpt1.tar.gz'],
  ['COM\u00b9', '_COM\u00b9'],
  ['conin$', '_conin$'],
  ['console.txt', 'console.txt'],
  ['end. . ', 'end'],
  ['über uns.pdf', 'über uns.pdf'],
  ['🎉.txt', '🎉.txt'],
])('the name %j of a stranger is written as %s', covers('defect/D9-1', 'defect/R-11'), (filename, safe) => {
  expect(safeName({ id: 7, filename })).toBe(safe);
});

test.each([
  ['x'.repeat(200), 'x'.repeat(200)],
  ['x'.repeat(201), 'x'.repeat(200)],
  [`${'x'.repeat(300)}.txt`, `${'x'.repeat(196)}.txt`],
  [`${'é'.repeat(300)}.txt`, `${'é'.repeat(98)}.txt`],
  [`${'🎉'.repeat(100)}.md`, `${'🎉'.repeat(49)}.md`],
  [`x.${'y'.repeat(300)}`, `x.${'y'.repeat(198)}`],
])('a name is cut to 200 bytes, and keeps its ending: %#', covers('defect/D9-2'), (filename, safe) => {
  expect(safeName({ id: 7, filename })).toBe(safe);
  expect(Buffer.byteLength(safeName({ id: 7, filename }))).toBeLessThanOrEqual(limits.fileNameBytes);
});
