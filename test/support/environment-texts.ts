/** Environment files and what systemd reads from them (measured; settings.real.test.ts reads them with the real systemd). */
export const environmentTexts: readonly (readonly [text: string, env: Readonly<Record<string, string>>])[] = [
  ['A=http://10.0.0.1:2379,\\\nhttp://127.0.0.1:2379\n', { A: 'http://10.0.0.1:2379,http://127.0.0.1:2379' }],
  ['A="one\ntwo"\nB=1\n', { A: 'one\ntwo', B: '1' }],
  ["A='one\ntwo\\\nthree'\n", { A: 'one\ntwo\\\nthree' }],
  ['A="one\\\ntwo"\n', { A: 'onetwo' }],
  ['A="say \\"x\\" \\$B \\n"\n', { A: 'say "x" $B \\n' }],
  ['A="a" "b" c # d\n', { A: 'abc # d' }],
  ['A=x\\ y\\"z  \nB=it\'s\n', { A: 'x y"z', B: "it's" }],
  [' A = 1 \n; c\n# c\nexport B=2\nnot one\nC=3', { A: '1', C: '3' }],
  ['A=1\\', { A: '1' }],
  ['A="open\nB=1\n', { A: 'open\nB=1\n' }],
  ['A=\nB=\\\n\nC=""\n', { A: '', B: '', C: '' }],
  ['A=1\r\nB="2"\r\n', { A: '1', B: '2' }],
  ['A=1,\\\n  2\nA=3\n', { A: '3' }],
  ['A=1,\\\n  2\n', { A: '1,  2' }],
  ['=A=1\nB=2=3\n1C=4\n', { B: '2=3' }],
];
