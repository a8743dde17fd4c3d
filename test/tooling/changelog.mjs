// @ts-check
// Reads CHANGELOG.md in the format of Keep a Changelog, with one section per version and "Unreleased" at the top, and
// closes its "Unreleased" section.

const HEADING = /^## \[?([^\]\n]+?)\]?(?: - (\S+))?$/;

/**
 * Returns the sections with the index of their first line (from 0) and the number of their entries.
 * @type {typeof import('./changelog.mjs').sectionsOf}
 */
export const sectionsOf = (text) => {
  const lines = text.split('\n');
  const starts = lines.flatMap((line, at) => (HEADING.test(line) ? [at] : []));
  return starts.map((start, index) => {
    const [, name = '', date] = HEADING.exec(lines[start] ?? '') ?? [];
    const body = lines.slice(start + 1, starts[index + 1] ?? lines.length);
    return { name, date, start, entries: body.filter((line) => /^[-*] /.test(line)).length };
  });
};

/** @param {{ readonly name: string }} section */
const isUnreleased = ({ name }) => name.toLowerCase() === 'unreleased';

/**
 * Returns the problems that prevent a release of this version, each as a pair of the problem and its solution.
 * @type {typeof import('./changelog.mjs').changelogProblems}
 */
export const changelogProblems = (text, version) => {
  const sections = sectionsOf(text);
  const open = sections.find(isUnreleased);
  /** @type {[string, string][]} */
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

/**
 * Returns the text with the section "Unreleased" renamed to the section of `version`, and a new empty "Unreleased" section above it.
 * @type {typeof import('./changelog.mjs').closeChangelog}
 */
export const closeChangelog = (text, version, day) => {
  const { start } = sectionsOf(text).find(isUnreleased) ?? { start: -1 };
  const lines = text.split('\n');
  return [...lines.slice(0, start + 1), '', `## [${version}] - ${day}`, ...lines.slice(start + 1)].join('\n');
};

/**
 * Returns the lines of one version without its heading, which are the text of a release page.
 * @type {typeof import('./changelog.mjs').notesOf}
 */
export const notesOf = (text, version) => {
  const sections = sectionsOf(text);
  const at = sections.findIndex(({ name }) => name === version);
  if (at < 0) return '';
  const lines = text.split('\n').slice((sections[at]?.start ?? 0) + 1, sections[at + 1]?.start);
  return `${lines.join('\n').trim()}\n`;
};
