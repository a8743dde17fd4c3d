import type { ChoiceDef, FieldDef, LabelDef, Policy } from './definition.ts';

type Plain = Record<string, unknown>;
const present = (value: Plain): Plain =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));

/** `disabled: true` is the plain form of a policy that says nothing. */
const disabledText = (policy: Policy | undefined): unknown => {
  if (policy === undefined) return undefined;
  const said = {
    ...(policy.hideInSearch ? { hideInSearch: true } : {}),
    ...(policy.showInApply ? { showInApply: true } : {}),
  };
  return Object.keys(said).length === 0 ? true : said;
};

const choiceText = ({ name, id, description, badge, disabled }: ChoiceDef): Plain =>
  present({ name, id, description, badge: badge && present({ ...badge }), disabled: disabledText(disabled) });

const fieldText = ({
  name,
  id,
  type,
  required,
  maxEntries,
  dateFormat,
  choices,
  disabled,
}: FieldDef): Plain =>
  present({
    name,
    id,
    type,
    required: required || undefined,
    maxEntries,
    dateFormat,
    disabled: disabledText(disabled),
    choices: type === 'selection' ? choices.map(choiceText) : undefined,
  });

/** A definition as the plain value of its file; reading it gives the same definition. */
export const fileFrom = ({
  id,
  revision,
  title,
  type,
  description,
  learnMoreUri,
  copyMode,
  enabledApps,
  fields,
}: LabelDef): Plain =>
  present({
    id,
    revision,
    title,
    type,
    description,
    learnMoreUri,
    copyMode,
    enabledApps: enabledApps && [...enabledApps],
    fields: fields.map(fieldText),
  });
