import { labelRoles } from '../api-specs/labels/words.ts';
import type { LabelDef } from './definition.ts';
import { whoOf } from './permissions.ts';

/** Something that a rule does not like, with the path of the member. */
export type Objection = { readonly path: string; readonly message: string };
/** What labels.lint.yaml says about a rule. */
export type LintOptions = {
  readonly description: { readonly labels: boolean; readonly choices: boolean };
  readonly name_pattern: string;
  readonly badge_contrast: { readonly against: string; readonly min: number };
  readonly editors: readonly string[];
};

type Part = { readonly path: string; readonly name: string };
const namesIn = ({ title, fields = [] }: LabelDef): Part[] => [
  { path: 'title', name: title },
  ...fields.flatMap((field, i) => [
    { path: `fields[${i}].name`, name: field.name },
    ...(field.choices ?? []).map((choice, c) => ({
      path: `fields[${i}].choices[${c}].name`,
      name: choice.name,
    })),
  ]),
];

/** Labels, and choices when the team asks for it, have a description. */
const description = (wanted: LabelDef, options: LintOptions['description']): Objection[] => {
  const message = 'has no description';
  const choices = (wanted.fields ?? []).flatMap((field, i) =>
    (field.choices ?? []).flatMap((choice, c) =>
      choice.description
        ? []
        : [{ path: `fields[${i}].choices[${c}]`, message: `choice ${choice.name} ${message}` }],
    ),
  );
  return [
    ...(options.labels && !wanted.description
      ? [{ path: 'title', message: `label ${wanted.title} ${message}` }]
      : []),
    ...(options.choices ? choices : []),
  ];
};

/** Every name matches the team's pattern. */
const namePattern = (wanted: LabelDef, pattern: string): Objection[] => {
  const expression = new RegExp(pattern, 'u');
  return namesIn(wanted)
    .filter(({ name }) => !expression.test(name))
    .map(({ path, name }) => ({ path, message: `"${name}" does not match ${pattern}` }));
};

const channel = (hex: string, at: number): number => {
  const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
};
const luminance = (hex: string): number =>
  0.2126 * channel(hex, 1) + 0.7152 * channel(hex, 3) + 0.0722 * channel(hex, 5);
/** The contrast ratio of WCAG 2: 1 to 21. */
const contrast = (a: string, b: string): number => {
  const [light = 1, dark = 1] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
};

/** A badge can be told from its surroundings. */
const badgeContrast = (wanted: LabelDef, { against, min }: LintOptions['badge_contrast']): Objection[] =>
  (wanted.fields ?? []).flatMap((field, i) =>
    (field.choices ?? []).flatMap((choice, c) => {
      const color = choice.badge?.color;
      if (color === undefined) return [];
      const ratio = contrast(color, against);
      const text = `badge ${color} has a contrast of ${ratio.toFixed(1)} against ${against}; at least ${min} is wanted`;
      return ratio < min ? [{ path: `fields[${i}].choices[${c}].badge`, message: text }] : [];
    }),
  );

/** Only those whom the team names may edit labels. `*` and `@example.com` stand for many. */
const editors = (wanted: LabelDef, allowed: readonly string[]): Objection[] =>
  (wanted.permissions ?? []).flatMap((permission, i) => {
    const who = whoOf(permission);
    const isAllowed = allowed.some(
      (one) => one === '*' || one === who || (one.startsWith('@') && who.endsWith(one)),
    );
    return permission.role !== labelRoles[labelRoles.length - 1] || isAllowed
      ? []
      : [
          {
            path: `permissions[${i}]`,
            message: `${who} may not be EDITOR; allowed: ${allowed.join(', ') || 'nobody'}`,
          },
        ];
  });

type Rule<K extends keyof LintOptions> = {
  readonly summary: string;
  /** What holds when labels.lint.yaml does not say it; undefined: the rule is off. */
  readonly standard: LintOptions[K] | undefined;
  readonly check: (wanted: LabelDef, options: LintOptions[K]) => Objection[];
};
/** One row a rule: its name in labels.lint.yaml, what holds without that file, and the check. */
export const lintRules: { readonly [K in keyof LintOptions]: Rule<K> } = {
  description: {
    summary: 'Labels (and choices, when asked for) have a description',
    standard: { labels: true, choices: false },
    check: description,
  },
  name_pattern: {
    summary: 'Titles and names match a regular expression',
    standard: '^\\S(.*\\S)?$',
    check: namePattern,
  },
  badge_contrast: {
    summary: 'Badges can be told from the background',
    standard: { against: '#ffffff', min: 1.5 },
    check: badgeContrast,
  },
  editors: { summary: 'Only these principals may have the role EDITOR', standard: undefined, check: editors },
};
