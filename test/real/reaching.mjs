// Finds the test files that reach a file, because the report of a missing part lists tests and not the helper that starts the part.
import { dirname, join, normalize } from 'node:path';

const IMPORT = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g;

/** Maps each file to the files that import it by relative imports. Names are relative to one root. */
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

/** Returns the test files among `seeds` and among their direct and indirect importers, in alphabetical order. */
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
