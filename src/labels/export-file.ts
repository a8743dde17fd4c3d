import type { ChoiceDef, FieldDef, LabelDef, PermissionDef, Policy } from './definition.ts';
import { present } from './read-values.ts';

type Plain = Record<string, unknown>;

/** `disabled: true` is the plain form of a policy that says nothing. */
const disabledText = (policy: Policy | false | undefined): unknown => {
  if (policy === undefined || policy === false) return policy;
  return policyText(policy) ?? true;
};
const policyText = (policy: Policy | undefined): Plain | undefined => {
  const said = {
    ...(policy?.hideInSearch ? { hideInSearch: true } : {}),
    ...(policy?.showInApply ? { showInApply: true } : {}),
  };
  return Object.keys(said).length === 0 ? undefined : said;
};

export const choiceText = (choice: ChoiceDef): Plain => {
  const { name, key, id, was, description, badge, disabled } = choice;
  return present({ name, key, id, was, description, badge, disabled: disabledText(disabled) });
};

export const fieldText = (field: FieldDef): Plain => {
  const { name, key, id, was, type, required, maxEntries, dateFormat, choices, disabled } = field;
  return present({
    name,
    key,
    id,
    was,
    type,
    required,
    maxEntries,
    dateFormat,
    disabled: disabledText(disabled),
    choices: choices?.map(choiceText),
  });
};

export const permissionText = ({ role, email, person, group, audience }: PermissionDef): Plain =>
  // An address says it all; the principal is the service's own name for it.
  present(email === undefined ? { role, person, group, audience } : { role, email });

/** A definition as the plain value of its file; reading it gives the same definition. */
export const fileFrom = (wanted: LabelDef): Plain => {
  const { key, id, was, title, type, description, learnMoreUri, state, disabledPolicy } = wanted;
  const { copyMode, enabledApps, permissions, fields } = wanted;
  return present({
    key,
    id,
    was,
    title,
    type,
    description,
    learnMoreUri,
    state,
    disabledPolicy: policyText(disabledPolicy),
    copyMode,
    enabledApps: enabledApps && [...enabledApps],
    permissions: permissions?.map(permissionText),
    fields: fields?.map(fieldText),
  });
};
