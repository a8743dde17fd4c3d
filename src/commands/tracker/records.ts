import { tracker } from '../../api-specs/tracker/index.ts';
import type { Command } from '../../cli/command.ts';
import { trackerNaming } from '../../tracker/names/tracker-naming.ts';
import { columnsOf } from '../../cli/derived/columns.ts';
import { commandFrom } from '../../cli/derived/command.ts';
import { type Kind, ensure, upsert } from '../../tracker/ensure.ts';
import type { Verbs } from '../../tracker/find-or-create.ts';

/** Resources whose records are known by name or external_id, so that "make it if it is not there" has a meaning. */
const RESOURCES = [
  'categories',
  'epics',
  'groups',
  'iterations',
  'labels',
  'objectives',
  'projects',
] as const;

type Resource = (typeof RESOURCES)[number];
const verbsOf = (resource: Resource): Verbs => tracker.table[resource] as Verbs;
const singularOf = (resource: Resource): string => resource.replace(/ies$/, 'y').replace(/s$/, '');

const kindOf = (resource: Resource, verb: string): Kind => {
  const verbs = verbsOf(resource);
  return {
    verbs,
    singular: singularOf(resource),
    view: { columns: columnsOf(verbs.create) },
    words: `opsctl tracker ${resource} ${verb}`,
  };
};

const commandsOf = (resource: Resource): Command[] => {
  const { create } = verbsOf(resource);
  const base = commandFrom({
    service: tracker,
    resource,
    verb: 'create',
    operation: create,
    naming: trackerNaming,
  });
  const shape = (verb: string, summary: string, about: string, run: Command['run']): Command => ({
    path: ['tracker', resource, verb],
    summary,
    about,
    get flags() {
      return base.flags;
    },
    operation: { service: tracker, operation: create },
    run,
  });
  const singular = singularOf(resource);
  const a = /^[aeio]/.test(singular) ? `an ${singular}` : `a ${singular}`;
  return [
    shape(
      'ensure',
      `Create ${a} unless it is there`,
      'It is there when one has the same external_id or, without one, the same name. An existing one is not changed.',
      ensure(kindOf(resource, 'ensure')),
    ),
    shape(
      'upsert',
      `Create ${a}, or change it to what is given`,
      'Found by external_id or, without one, by name. Only fields that differ are sent.',
      upsert(kindOf(resource, 'upsert')),
    ),
  ];
};

export const ensureCommands: readonly Command[] = RESOURCES.flatMap(commandsOf);
