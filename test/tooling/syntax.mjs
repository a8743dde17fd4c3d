// @ts-check
// The syntax tree of a source as the tools read it.

/** @param {unknown} part @returns {part is import('./syntax.mjs').Node} */
export const isNode = (part) =>
  typeof part === 'object' && part !== null && 'type' in part && typeof part.type === 'string';
/** @type {typeof import('./syntax.mjs').partsOf} */
export const partsOf = (node) => Object.values(node).flat().filter(isNode);
