import { resolve } from 'node:path';
import type { Host } from '../../../platform/host.ts';
import { checkFields } from '../../../core/check.ts';
import { type Fields, help, int, list, req, str } from '../../../core/field.ts';
import { AppError, type Problem, problem } from '../../../core/problem.ts';
import { contentOf } from '../cluster/yaml-file.ts';

/** A fleet file: `clusters` are paths of cluster files, relative to it. */
const fleetFields: Fields = {
  name: help(str(100, { min: 1 }), 'Name of the fleet'),
  canary: help(
    str(undefined, { min: 1 }),
    'Cluster file that goes first, alone (default: the first of the list)',
  ),
  at_once: help(int({ min: 1, max: 50 }), 'How many clusters at a time after the canary (default 1)'),
  clusters: req(help(list(str(undefined, { min: 1 }), { min: 1, max: 1000 }), 'Cluster files')),
};
export type Fleet = {
  readonly name: string;
  readonly canary: string;
  readonly atOnce: number /** Absolute paths. */;
  readonly clusters: readonly string[];
};
type Content = { name?: string; canary?: string; at_once?: number; clusters: string[] };

/** Everything that is wrong with the file's content, all at once. Pure. */
export const fleetProblems = (content: unknown): Problem[] => {
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    return [problem('', 'type', 'must be a mapping with `clusters`')];
  const found = checkFields(fleetFields, content as Record<string, unknown>);
  if (found.length > 0) return found;
  const { clusters, canary } = content as Content;
  for (const [i, path] of clusters.entries())
    if (clusters.indexOf(path) !== i) found.push(problem(`clusters[${i}]`, 'rule', `${path} is named twice`));
  if (canary !== undefined && !clusters.includes(canary))
    found.push(problem('canary', 'enum', `must be one of the clusters; got ${canary}`));
  return found;
};

export const readFleet = async (host: Host, path: string): Promise<Fleet> => {
  const absolute = resolve(host.cwd, path);
  const text = await host.files.read(absolute);
  if (text === undefined)
    throw new AppError('config', `there is no fleet file ${path}`, {
      code: 'NO_FLEET_FILE',
      tryThis: ['a YAML file with `clusters: [a.yaml, b.yaml]`'],
    });
  const content = await contentOf(text, { what: path, code: 'FLEET_FILE', problems: fleetProblems });
  const { name, canary, at_once, clusters } = content as Content;
  const at = (file: string): string => resolve(absolute, '..', file);
  return {
    name: name ?? 'fleet',
    canary: at(canary ?? (clusters[0] as string)),
    atOnce: at_once ?? 1,
    clusters: clusters.map(at),
  };
};
