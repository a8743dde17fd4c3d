import type { Command } from '../cli/command.ts';
import { get } from './get.ts';
import { list } from './list.ts';
import { path } from './path.ts';
import { profiles } from './profiles.ts';
import { set } from './set.ts';
import { unset } from './unset.ts';
import { use } from './use.ts';

export const commands: readonly Command[] = [list, get, set, unset, path, profiles, use];
