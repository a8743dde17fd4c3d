/** Constructions to avoid in all text, and the search for them. */

const be = '(?:is|are|was|were|be|been|being)';

/** A construction to avoid, and its replacement. */
const constructions: readonly { readonly avoid: RegExp; readonly write: string }[] = [
  { avoid: /\b(?:says?|saying|said|tells?|telling|told)\b/gi, write: 'report, print, show, return, specify' },
  {
    avoid: new RegExp(`\\b${be} (?:\\w+ )?(?:looked|asked|waited|spoken|gone|done) \\w+`, 'gi'),
    write: 'active verb',
  },
  {
    avoid: new RegExp(
      `\\b${be} (?:taken|given|put|made|brought|handed) (?:\\w+ )?(?:for|back|away|off|up|again|over|by|of|aside)\\b`,
      'gi',
    ),
    write: 'active verb',
  },
  {
    avoid: new RegExp(
      `(?<!there )\\b${be} no (?!longer\\b|more\\b|such\\b|other\\b|different\\b|greater\\b|later\\b)[a-z]+`,
      'gi',
    ),
    write: 'is not a …',
  },
  { avoid: /\b(?:is|are|has|have|with) none\b/gi, write: 'does not exist, is missing' },
  {
    avoid:
      /\b(?:what|whatever|who|whoever) (?:is|are|was|comes?|goes|holds?|stands?|fails?|changed|asks?|runs?|others)\b/gi,
    write: 'name the thing',
  },
  { avoid: /[,;] (?:one|those) (?:that|which|who|of|with|without)\b/gi, write: 'repeat the noun' },
  { avoid: /\b(?:does?|did|may|can|will) so\b|\bthe same (?:goes|holds|for)\b/gi, write: 'repeat the verb' },
  {
    avoid:
      /\b(?:go|goes|going|went|gone) (?:on|back)\b|\bcarr(?:y|ies|ied) out\b|\bbrought to (?:an|its) end\b/gi,
    write: 'continue, resume, run, apply',
  },
  {
    avoid: /\b(?:stands?|stood|lies?|lying) (?:in|on|beside|after|before|next|there|for|still|behind)\b/gi,
    write: 'is in, is stored in',
  },
  { avoid: /\blook(?:s|ed|ing)? (?:at|for|after|whether|again|into)\b/gi, write: 'check, inspect, search' },
  {
    avoid:
      /\btakes? (?:\w+ ){0,2}(?:back|away|off|for|along|apart)\b|\btakes? (?:any|every|each|only|no)\b/gi,
    write: 'accept, treat as, remove',
  },
  {
    avoid:
      /\bends? (?:with|in) (?:exit |code |an? )?\d+\b|\b(?:is|are) (?:exit )?\d{1,3} \(was\b|\(w(?:as|ere) \d+\b/gi,
    write: 'exits with code N',
  },
  {
    avoid:
      /\b(?:anew|once more|meanwhile|likewise|at once|all the same|beside|elsewhere|thereby|in vain|just now)\b/gi,
    write: 'again, in the meantime, next to, immediately, in parallel',
  },
  {
    avoid: /\bof (?:its|their|your|our) own\b|\bby (?:itself|themselves)\b/gi,
    write: 'separate, dedicated, automatically',
  },
  {
    avoid:
      /(?:^|[.;:] )Where (?!to\b)\w+|, where (?:there|it|they|no|nothing|the|a)\b|\b(?:also|even|only|except) where\b/gm,
    write: 'if, when',
  },
  { avoid: /\balso (?:when|where|if|those|under|after|in|for|with|at)\b/gi, write: 'even if, including' },
  {
    avoid: /\b(?:nobody|somebody|everybody|anybody|whoever|nothing|something)\b/gi,
    write: 'no user, another user, any user; a positive sentence',
  },
  { avoid: /\b(?:after|for|so|keep|in) so (?:many|much|long)\b|\bso many\b/gi, write: 'N events, this long' },
  { avoid: /\b(?:meta)?data (?:are|were|have|say|differ|agree)\b/gi, write: 'the data is' },
  { avoid: /\b(?:begins?|began|begun)\b/gi, write: 'start' },
  {
    avoid:
      /\b(?:process|token|server|member|lock|owner) (?:that )?(?:still )?(?:lives?|lived|dies?|died|ends?)\b|\b(?:sick|fallen)\b/gi,
    write: 'runs, exits, expires, unhealthy',
  },
  {
    avoid: /\banswer(?:s|ed)?\b|\bblanks?\b|\bway (?:back|out|in)\b|\bwrong (?:usage)\b|\bfolders?\b/gi,
    write: 'response, space, rollback, directory',
  },
  { avoid: /\bno [\w-]+ but (?:a|an|the)\b|\bnothing but\b/gi, write: 'only, except' },
];

export type Hit = { readonly at: string; readonly text: string; readonly write: string };

/** Returns the hits of a text, each with its line number. Code, links and markup do not count. */
export const hitsIn = (name: string, text: string): { words: number; hits: Hit[] } => {
  const lines = text.split('\n').map((line) =>
    line
      .replace(/`[^`]*`/g, 'X')
      .replace(/\]\([^)]*\)/g, ']')
      .replace(/<[^>]*>/g, ''),
  );
  const hits = lines.flatMap((line, number) =>
    constructions.flatMap(({ avoid, write }) =>
      [...line.matchAll(avoid)].map(([found]) => ({ at: `${name}:${number + 1}`, text: found, write })),
    ),
  );
  return { words: lines.join(' ').match(/[A-Za-z][A-Za-z'-]+/g)?.length ?? 0, hits };
};
