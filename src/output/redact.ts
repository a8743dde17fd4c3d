import type { Redactor } from './types.ts';

/** The forms in which a secret may appear: as it is, in a URL, in JSON, in base64. */
const forms = (secret: string): string[] => {
  const bytes = Buffer.from(secret, 'utf8');
  const json = JSON.stringify(secret).slice(1, -1);
  return [...new Set([secret, encodeURIComponent(secret), json, bytes.toString('base64'), bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url')])];
};

/** Replaces every hidden value by `***`. Values under four characters are not hidden: they would blank out ordinary text. */
export const makeRedactor = (): Redactor => {
  const hidden = new Set<string>();
  let longestFirst: string[] = [];
  const clean = (text: string): string => longestFirst.reduce((out, secret) => (out.includes(secret) ? out.replaceAll(secret, '***') : out), text);
  /** How many characters at the end may be the beginning of a secret. */
  const heldBack = (text: string): number => {
    let most = 0;
    for (const secret of longestFirst) {
      for (let size = Math.min(secret.length - 1, text.length); size > most; size--) {
        if (text.endsWith(secret.slice(0, size))) most = size;
      }
    }
    return most;
  };
  return {
    hide: (secret) => {
      if (secret.length < 4) return;
      for (const form of forms(secret)) hidden.add(form);
      longestFirst = [...hidden].sort((a, b) => b.length - a.length);
    },
    clean,
    stream: () => {
      let kept = '';
      return {
        push: (piece) => {
          const text = kept + piece;
          const held = heldBack(text);
          const out = clean(text.slice(0, text.length - held));
          kept = text.slice(text.length - held);
          return out;
        },
        end: () => {
          const rest = clean(kept);
          kept = '';
          return rest;
        },
      };
    },
  };
};
