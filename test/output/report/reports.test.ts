/** The findings of a check, in the formats that CI services read. */
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { describe, expect, it, test } from 'vitest';
import { codeSpan, escapeMarkdown, fencedMarkdown } from '../../../src/core/text.ts';
import type { CheckFinding } from '../../../src/core/result.ts';
import {
  annotations,
  ciLines,
  codeQualityText,
  junitText,
  markdownText,
  reportsOf,
  sarifText,
} from '../../../src/output/reports.ts';
import { junitFaults, sarifFaults } from '../../support/report-schemas.ts';
import { readSources } from '../../support/sources.ts';

const nasty = 'a <b> & "c" | %d\nnext \u0007 ]]> ü';
const findings: readonly CheckFinding[] = [
  { rule: 'no-alarms', level: 'pass', message: 'no alarm is raised' },
  {
    rule: 'clocks-agree',
    level: 'warn',
    message: 'n2 differs',
    subject: 'n2',
    hint: 'check the time service',
  },
  { rule: 'quota', level: 'unknown', message: 'n3 could not be looked at' },
  { rule: 'name_pattern', level: 'fail', message: nasty, file: 'labels/ä b#1.yaml', line: 12, column: 5 },
];

describe('schemas', () => {
  it('JUnit and SARIF texts of any findings fit their schemas', () => {
    for (const some of [findings, [], ...findings.map((one) => [one])]) {
      expect(junitFaults(junitText(nasty, some))).toEqual([]);
      expect(sarifFaults(sarifText('1.2.3', some))).toEqual([]);
    }
  });
  it.each([
    ['an unknown property', (text: string) => text.replace('"columnKind"', '"columnKinds"')],
    ['a level of a passed check', (text: string) => text.replace('"level": "none"', '"level": "error"')],
    ['a line zero', (text: string) => text.replace('"startLine": 12', '"startLine": 0')],
    [
      'a result without a message',
      (text: string) => text.replace(/"message": \{\s*"text"/, '"message": { "texts"'),
    ],
  ])('the SARIF schema rejects %s', (_, change) => {
    const text = sarifText('1.2.3', findings);
    expect(change(text)).not.toBe(text);
    expect(sarifFaults(change(text)).length).toBeGreaterThan(0);
  });
  it.each([
    ['a wrong count', (text: string) => text.replace('failures="1"', 'failures="2"')],
    ['a case without a name', (text: string) => text.replace(/(<testcase[^>]*) name="[^"]*"/, '$1')],
    ['an unknown element', (text: string) => text.replaceAll('system-out', 'output')],
    ['text that is not XML', (text: string) => text.replace('</testsuites>', '')],
  ])('the JUnit schema rejects %s', (_, change) => {
    const text = junitText('kv check', findings);
    expect(change(text)).not.toBe(text);
    expect(junitFaults(change(text)).length).toBeGreaterThan(0);
  });
});

describe('JUnit', () => {
  const text = junitText('kv check', findings);
  it('JUnit output is valid XML for any texts', () => {
    expect(XMLValidator.validate(text)).toBe(true);
    const { testsuites } = new XMLParser({ ignoreAttributes: false, processEntities: true }).parse(text);
    expect(testsuites.testsuite).toMatchObject({
      '@_tests': '4',
      '@_failures': '1',
      '@_skipped': '1',
      '@_errors': '0',
    });
    expect(testsuites.testsuite.testcase).toHaveLength(4);
    expect(testsuites.testsuite.testcase[3].failure['@_message']).toContain('a <b> & "c" | %d');
  });
  it('JUnit output skips checks that were not made and fails only failed checks', () => {
    expect(text.match(/<failure /g)).toHaveLength(1);
    expect(text.match(/<skipped /g)).toHaveLength(1);
    expect(text).toContain('<system-out>warning: n2 differs (check the time service)</system-out>');
  });
});

/** The required properties of SARIF 2.1.0 and its rules for kinds and levels, transcribed manually. */
describe('SARIF', () => {
  const log = JSON.parse(sarifText('1.2.3', findings));
  it('SARIF output has the keys that the schema requires', () => {
    expect(log.version).toBe('2.1.0');
    for (const run of log.runs) {
      expect(typeof run.tool.driver.name).toBe('string');
      const ids = run.tool.driver.rules.map(({ id }: { id: string }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      for (const result of run.results) {
        expect(typeof result.message.text).toBe('string');
        expect(ids[result.ruleIndex]).toBe(result.ruleId);
        expect(['pass', 'open', 'fail', 'informational', 'notApplicable', 'review']).toContain(result.kind);
        expect(['none', 'note', 'warning', 'error']).toContain(result.level);
        // 3.27.10: a result with a kind other than fail has the level none.
        if (result.kind !== 'fail') expect(result.level).toBe('none');
        for (const { physicalLocation: at } of result.locations ?? [])
          if (at !== undefined) {
            expect(() => new URL(at.artifactLocation.uri, 'file:///')).not.toThrow();
            expect(at.region.startLine).toBeGreaterThan(0);
          }
      }
    }
  });
  it('names the file as a URI and the place in it', () => {
    expect(log.runs[0].results[3].locations).toEqual([
      {
        physicalLocation: {
          artifactLocation: { uri: 'labels/%C3%A4%20b%231.yaml' },
          region: { startLine: 12, startColumn: 5 },
        },
      },
    ]);
    expect(log.runs[0].results[1].locations).toEqual([
      { logicalLocations: [{ name: 'n2', kind: 'resource' }] },
    ]);
  });
});

it('a Code Quality fingerprint does not depend on the line, and passed checks are omitted', () => {
  const rows = JSON.parse(codeQualityText(findings));
  expect(rows.map(({ severity }: { severity: string }) => severity)).toEqual(['minor', 'info', 'major']);
  expect(rows[2].location).toEqual({ path: 'labels/ä b#1.yaml', lines: { begin: 12 } });
  const moved = JSON.parse(codeQualityText(findings.map((one) => ({ ...one, line: 99 }))));
  expect(moved[2].fingerprint).toBe(rows[2].fingerprint);
});

it('Markdown: counts, then what did not pass, and no cell breaks the table', () => {
  const lines = markdownText('kv check', findings).split('\n');
  expect(lines[0]).toBe('### kv check: 1 fail, 1 warn, 1 unknown, 1 pass');
  expect(lines.filter((line) => line.startsWith('| '))).toHaveLength(4);
  expect(lines[4]).toContain('a &lt;b> & "c" \\| %d next');
});

describe('annotations', () => {
  it('annotations are next to the line of the file, and a text cannot end the command or start another', () => {
    expect(annotations(findings)).toEqual([
      '::warning title=clocks-agree%3A n2::n2 differs (check the time service)',
      '::notice title=quota::n3 could not be looked at',
      '::error file=labels/ä b#1.yaml,line=12,col=5,title=name_pattern::a <b> & "c" | %25d%0Anext \u0007 ]]> ü',
    ]);
  });
  it.each([
    [{}, 0],
    [{ GITHUB_ACTIONS: 'false' }, 0],
    [{ GITHUB_ACTIONS: 'true' }, 3],
    [{ GITLAB_CI: 'true' }, 5],
  ])('annotations are written only inside a CI service: %j', (env, count) => {
    expect(ciLines({ env, now: () => 1_700_000_000_000 }, findings)).toHaveLength(count);
  });
  it('the last annotation counts the findings that are left out', () => {
    const many = Array.from({ length: 80 }, (_, i) => ({
      rule: 'row',
      level: 'fail' as const,
      message: `${i}`,
    }));
    const lines = annotations(many);
    expect([lines.length, lines.at(-1)]).toEqual([50, expect.stringContaining('title=31 more findings')]);
  });
  it('annotations omit passed checks', () => {
    expect(ciLines({ env: { GITLAB_CI: 'true' }, now: () => 0 }, findings.slice(0, 1))).toEqual([]);
  });
});

it.each(['junit', 'junit=', 'html=x', '=x'])('--report %s is refused', (text) => {
  expect(() => reportsOf([text])).toThrow(expect.objectContaining({ category: 'usage' }));
});
it('--report takes several', () => {
  expect(reportsOf(['junit=a.xml,sarif=b=c.sarif'])).toEqual([
    { format: 'junit', path: 'a.xml' },
    { format: 'sarif', path: 'b=c.sarif' },
  ]);
});

describe('text in Markdown', () => {
  const hostile = [
    '![x](https://evil.example/a.png)',
    '[Approve](https://evil.example)',
    '<img src=x>',
    '</summary></details>',
    '`code` | next',
    'a\\|b',
    'line\nnext',
    'safe\u202egpj',
  ];
  test.each(hostile)('%j makes no element, link, code or cell', (text) => {
    const shown = escapeMarkdown(text);
    expect(shown).not.toMatch(/[<`[\]\n\u202e]|(?<!\\)\||\\[^|u]/u);
  });
  test.each([
    ...['@octocat', '(@org/team)', 'a@b.example', '&#64;octocat', '&#x40;octocat', '&commat;octocat'],
    ...['#12', 'org/repo#12', 'GH-12', '!12', '&12', '$12', '#"a b"', '&#35;12'],
    ...['https://github.com/o/r/issues/12', 'https://git.example/o/r/-/merge_requests/12'],
  ])('%j notifies nobody and names no issue', (text) => {
    // The services look for names in the text of the page, after its entities are resolved.
    const shown = escapeMarkdown(text).replaceAll('&amp;', '&').replaceAll('&#8203;', '\u200b');
    expect(shown).not.toMatch(/@\w|[#!&$]["\d]|gh-\d|\/(issues|merge_requests)\/\d/iu);
    expect(shown.replaceAll('\u200b', '')).toBe(text);
    expect(escapeMarkdown(text)).not.toMatch(/&(?!amp;|#8203;)/);
  });
  test.each(['http://127.0.0.1:2379/health', 'n1: 3.4.9, 12 %', 'C#, F#', 'a ! b @ c', '/var/lib/etcd'])(
    '%j stays as it is',
    (text) => {
      expect(escapeMarkdown(text)).toBe(text);
    },
  );
  test.each([
    ['http://[::1]:8080', '`http://[::1]:8080`'],
    ["opsctl kv run 'a`b'", "``opsctl kv run 'a`b'``"],
    ['`a``', '``` `a`` ```'],
    [' a ', '`  a  `'],
    ['a | <b>\nnext\u202e', '`a | <b> next\\u202e`'],
  ])('the code %j is shown as it is', (text, span) => {
    expect(codeSpan(text)).toBe(span);
  });
  test('each source writes code in Markdown by the same function', () => {
    const sources = readSources();
    const escaped = sources.filter(([, text]) => text.includes('\\`${escapeMarkdown('));
    expect(escaped.map(([name]) => name)).toEqual([]);
    // The other sources use backticks in messages for a terminal, which are not Markdown.
    const pages = [
      'kv/operations/record.ts',
      'kv/upgrade/present/page.ts',
      'labels/diff.ts',
      'output/reports.ts',
    ];
    const own = sources.filter(([name, text]) => pages.includes(name) && text.includes('\\`${'));
    expect(own.map(([name]) => name)).toEqual([]);
  });
  test('no line closes a block', () => {
    expect(fencedMarkdown('diff', ['a', '```', '+ ````\n'])).toEqual([
      ...['`````diff', 'a', '```', '+ ````\\n', '`````'],
    ]);
  });
  test('each source that writes a table of Markdown escapes its texts by the same function', () => {
    const sources = readSources().filter(
      // The pages of the reference contain only texts of this program.
      ([name]) => !/^(?:docs|core\/text)\.ts$|^reference\//.test(name),
    );
    const writing = sources.filter(([, text]) => /\|---|markdownTable\(/.test(text));
    expect(writing.map(([name]) => name).toSorted()).toEqual([
      ...['kv/operations/record.ts', 'kv/upgrade/present/page.ts', 'labels/diff.ts'],
      ...['output/reports.ts', 'tracker/workspace/workspace-file.ts'],
    ]);
    expect(writing.filter(([, text]) => !text.includes('escapeMarkdown('))).toEqual([]);
    const own = sources.filter(([, text]) => /replace(?:All)?\(\s*['/]\\?\|['/]/.test(text));
    expect(own.map(([name]) => name)).toEqual([]);
  });
});
