// Reads and closes CHANGELOG.md in the format of Keep a Changelog: one section per version, and "Unreleased" on top.

const HEADING = /^## \[?([^\]\n]+?)\]?(?: - (\S+))?$/;

/** The sections with their first line (from 0) and the number of their entries. */
export const sectionsOf = (text) => {
  const lines = text.split('\n');
  const starts = lines.flatMap((line, at) => (HEADING.test(line) ? [at] : []));
  return starts.map((start, index) => {
    const [, name, date] = HEADING.exec(lines[start]);
    const body = lines.slice(start + 1, starts[index + 1] ?? lines.length);
    return { name, date, start, entries: body.filter((line) => /^[-*] /.test(line)).length };
  });
};

const isUnreleased = ({ name }) => name.toLowerCase() === 'unreleased';

/** What prevents a release of this version: pairs of the problem and the way out. */
export const changelogProblems = (text, version) => {
  const sections = sectionsOf(text);
  const open = sections.find(isUnreleased);
  const problems = [];
  if (open === undefined)
    problems.push([
      'CHANGELOG.md has no section "Unreleased"',
      'add the heading "## Unreleased" above the newest version, and one line for each change below it',
    ]);
  else if (open.entries === 0)
    problems.push([
      'the section "Unreleased" of CHANGELOG.md has no entries',
      'add a line for each change since the last release: git log --oneline',
    ]);
  if (sections.some(({ name }) => name === version))
    problems.push([
      `CHANGELOG.md already has a section for ${version}`,
      'move its lines to "Unreleased", or choose another version',
    ]);
  return problems;
};

/** The text with the section "Unreleased" as the section of `version`, and an empty "Unreleased" above it. */
export const closeChangelog = (text, version, day) => {
  const { start } = sectionsOf(text).find(isUnreleased);
  const lines = text.split('\n');
  return [...lines.slice(0, start + 1), '', `## [${version}] - ${day}`, ...lines.slice(start + 1)].join('\n');
};

/** The lines of one version without its heading: the text of a release page. */
export const notesOf = (text, version) => {
  const sections = sectionsOf(text);
  const at = sections.findIndex(({ name }) => name === version);
  if (at < 0) return '';
  const lines = text.split('\n').slice(sections[at].start + 1, sections[at + 1]?.start);
  return `${lines.join('\n').trim()}\n`;
};
