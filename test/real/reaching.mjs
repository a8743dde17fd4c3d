// Which test files reach a file: what a missing part leaves out is named by tests, not by the helper that starts the part.
import { dirname, join, normalize } from 'node:path';

const IMPORT = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g;

/** Who imports whom, by relative imports: file → the files that import it. Names are relative to one root. */
const importersOf = (files) => {
  const importers = new Map();
  for (const { name, text } of files) {
    for (const [, path] of text.matchAll(IMPORT)) {
      const target = normalize(join(dirname(name), path));
      importers.set(target, [...(importers.get(target) ?? []), name]);
    }
  }
  return importers;
};

/** The test files among `seeds` and among what imports them, directly or through others, in alphabetical order. */
export const testsReaching = (files, seeds) => {
  const importers = importersOf(files);
  const seen = new Set(seeds);
  const open = [...seeds];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    for (const importer of importers.get(name) ?? []) {
      if (!seen.has(importer)) {
        seen.add(importer);
        open.push(importer);
      }
    }
  }
  return [...seen].filter((name) => name.endsWith('.test.ts')).sort();
};
