import type { Command } from '../cli/command.ts';
import { get } from './config/get.ts';
import { list } from './config/list.ts';
import { path } from './config/path.ts';
import { profiles } from './config/profiles.ts';
import { set } from './config/set.ts';
import { unset } from './config/unset.ts';
import { use } from './config/use.ts';

export const commands: readonly Command[] = [list, get, set, unset, path, profiles, use];
