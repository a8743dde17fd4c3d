import { expect, test } from 'vitest';
import { changelogProblems, closeChangelog, notesOf, sectionsOf } from './changelog.mjs';
import { nextVersion } from './release.mjs';

const text = `# Changelog

Intro.

## Unreleased

### Added

- one
- two

## [0.1.0] - 2026-01-02

- old
`;

test.each(['## Unreleased', '## [Unreleased]', '## [unreleased]'])(
  'a release dates the section %s and opens an empty one above it',
  (heading) => {
    const closed = closeChangelog(text.replace('## Unreleased', heading), '0.2.0', '2026-12-01');
    expect(closed).toContain(`${heading}\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- one\n- two\n`);
    expect(sectionsOf(closed).map(({ name, date, entries }) => [name.toLowerCase(), date, entries])).toEqual([
      ['unreleased', undefined, 0],
      ['0.2.0', '2026-12-01', 2],
      ['0.1.0', '2026-01-02', 1],
    ]);
    expect(notesOf(closed, '0.2.0')).toBe('### Added\n\n- one\n- two\n');
  },
);

test.each([
  [
    'no section',
    text.replace('## Unreleased', '## Coming'),
    '0.2.0',
    /no section "Unreleased"/,
    /## Unreleased/,
  ],
  ['an empty section', closeChangelog(text, '0.1.5', '2026-02-02'), '0.2.0', /has no entries/, /git log/],
  ['a section of this version', text, '0.1.0', /already has a section for 0\.1\.0/, /another version/],
])('a changelog with %s prevents a release and names the fix', (_, changelog, version, problem, way) => {
  const problems = changelogProblems(changelog, version);
  expect(problems).toHaveLength(1);
  expect(problems[0]?.[0]).toMatch(problem);
  expect(problems[0]?.[1]).toMatch(way);
});

test.each([
  ['0.1.0', 'patch', '0.1.1'],
  ['0.1.9', 'minor', '0.2.0'],
  ['0.1.0', 'major', '1.0.0'],
  ['1.2.3', 'major', '2.0.0'],
  ['0.2.0-rc.1', 'patch', '0.2.0'],
  ['0.2.0-rc.1', 'minor', '0.2.0'],
  ['0.2.1-rc.1', 'minor', '0.3.0'],
  ['1.0.0-rc.2', 'major', '1.0.0'],
  ['0.1.0', '0.2.0-rc.1', '0.2.0-rc.1'],
  ['0.2.0-rc.9', '0.2.0-rc.10', '0.2.0-rc.10'],
  ['0.2.0-rc.10', '0.2.0', '0.2.0'],
])('%s and %s give %s', (current, word, next) => expect(nextVersion(current, word)).toBe(next));

test.each(['0.1.0', '0.0.9', '0.1.0-rc.1', 'big', '01.2.3', '1.2', 'v0.2.0'])(
  'the version %s after 0.1.0 is rejected with the fix',
  (word) => expect(() => nextVersion('0.1.0', word)).toThrow(/^invalid version .*\n {2}try: npm run release/),
);
