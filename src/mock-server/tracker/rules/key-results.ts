import { problem } from '../../../core/problem.ts';
import { HttpError } from '../../http-error.ts';

type GivenValue = { readonly boolean_value?: boolean; readonly numeric_value?: string };

/** spec/tracker#records KeyResultValue {boolean_value bool, numeric_value str}; which one counts follows from the type. */
export const valueFitsKeyResultType = (type: string, field: string, value: GivenValue | undefined): void => {
  if (value === undefined) return;
  const refuse = (message: string): never => {
    throw new HttpError(422, `${field} ${message}.`, { problems: [problem(field, 'rule', message)] });
  };
  if (type === 'boolean') {
    if (value.boolean_value === undefined)
      refuse('needs boolean_value, for the key result is of type boolean');
  } else if (value.numeric_value === undefined || !/^-?\d+(\.\d+)?$/.test(value.numeric_value)) {
    refuse(`needs numeric_value with a number as text, for the key result is of type ${type}`);
  }
};
