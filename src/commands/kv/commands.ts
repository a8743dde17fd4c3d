import type { Command } from '../command.ts';
import { check } from './check.ts';
import { plan } from './plan.ts';
import { abort, rollback } from './rollback.ts';
import { status } from './status.ts';
import { resume, upgrade } from './upgrade.ts';

export const commands: readonly Command[] = [status, check, plan, upgrade, resume, rollback, abort];
