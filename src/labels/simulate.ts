import type {
  ChoiceDef,
  FieldDef,
  LabelDef,
  LiveChoice,
  LiveField,
  LiveLabel,
  LiveState,
  Policy,
} from './definition.ts';
import { match } from './match.ts';
import { present } from './read-values.ts';

const valueOr = <T>(said: T | null | undefined, live: T | undefined): T | undefined =>
  said === undefined ? live : (said ?? undefined);
type Before = { readonly state: LiveState; readonly disabled?: Policy } | undefined;
/** A draft cannot be disabled yet. */
const disabledAfter = (said: Policy | false | undefined, live: Before): Policy | undefined => {
  if (live === undefined || live.state === 'UNPUBLISHED_DRAFT') return undefined;
  return said === undefined ? live.disabled : said || undefined;
};
const plainPolicy: Policy = { hideInSearch: false, showInApply: false };
/** What the file leaves out: drafts go, the rest is disabled. */
const left = <L extends NonNullable<Before>>(missing: readonly L[]): L[] =>
  missing
    .filter(({ state }) => state !== 'UNPUBLISHED_DRAFT')
    .map((part) => ({ ...part, disabled: part.disabled ?? plainPolicy }));

const choiceAfter = (wanted: ChoiceDef, live: LiveChoice | undefined): LiveChoice =>
  present({
    id: live?.id ?? '',
    name: wanted.name,
    state: live?.state ?? 'UNPUBLISHED_DRAFT',
    description: valueOr(wanted.description, live?.description) || undefined,
    badge: valueOr(wanted.badge, live?.badge),
    disabled: disabledAfter(wanted.disabled, live),
  });

const choicesAfter = (wanted: FieldDef, live: LiveField | undefined): readonly LiveChoice[] => {
  if (wanted.choices === undefined) return live?.choices ?? [];
  const { pairs, missing } = match(wanted.choices, live?.choices ?? [], '');
  return [...pairs.map((pair) => choiceAfter(pair.wanted, pair.live)), ...left(missing)];
};

const fieldAfter = (wanted: FieldDef, live: LiveField | undefined): LiveField => {
  const format = wanted.dateFormat ?? live?.dateFormat ?? 'LONG_DATE';
  return present({
    id: live?.id ?? '',
    name: wanted.name,
    type: wanted.type,
    state: live?.state ?? 'UNPUBLISHED_DRAFT',
    required: wanted.required ?? live?.required ?? false,
    maxEntries: valueOr(wanted.maxEntries, live?.maxEntries),
    dateFormat: wanted.type === 'date' ? format : undefined,
    choices: choicesAfter(wanted, live),
    disabled: disabledAfter(wanted.disabled, live),
  });
};

/** The label that one delta leads to, but for the order of its parts. Pure. */
export const simulated = (wanted: LabelDef, live: LiveLabel): LiveLabel => {
  const { pairs, missing } = match(wanted.fields ?? [], live.fields, '');
  const fields = [...pairs.map((pair) => fieldAfter(pair.wanted, pair.live)), ...left(missing)];
  const { description, ...rest } = live;
  return present({
    ...rest,
    title: wanted.title,
    description: valueOr(wanted.description, description) || undefined,
    fields: wanted.fields === undefined ? live.fields : fields,
  });
};
