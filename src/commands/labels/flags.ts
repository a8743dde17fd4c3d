import { bool, str } from '../../kernel/field.ts';
import type { Argument, Flag } from '../command.ts';
import { TITLES } from './titles.ts';

export const labelArgument: Argument = { name: 'label', field: str(), summary: 'Title, id or labels/<id>', complete: TITLES };
export const adminFlag: Flag = { field: bool(), summary: 'Act with admin rights (useAdminAccess)' };
