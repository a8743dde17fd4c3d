/** A path with wildcards: `*` stands for text without a slash, `**` for any text. */
export const pathPattern = (path: string): RegExp =>
  new RegExp(
    `^${path.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/\*\*|\*/g, (stars) => (stars === '**' ? '.*' : '[^/]*'))}$`,
  );
