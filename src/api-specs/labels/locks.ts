import { type Resource, op } from '../../core/operation.ts';
import { listLabelLocksResponse } from './constraint.ts';
import { labelName, pageQuery, revisionName } from './wire.ts';

const columns = ['name', 'fieldId', 'choiceId', 'state', 'createTime'];

/** spec/labels#locks. */
export const locks = {
  list: op({
    method: 'GET',
    path: '/{parent=labels/*}/locks',
    id: 'labels.locks.list',
    summary: 'List the locks of a label',
    cites: 'spec/labels#locks',
    params: { parent: labelName },
    query: pageQuery(100),
    ok: 200,
    returns: listLabelLocksResponse,
    cli: { columns, examples: ['opsctl labels locks list Contract'] },
  }),
} as const satisfies Resource;

export const revisionLocks = {
  list: op({
    method: 'GET',
    path: '/{parent=labels/*/revisions/*}/locks',
    id: 'labels.revisions.locks.list',
    summary: 'By way of a revision: list the locks',
    cites: 'spec/labels#locks',
    params: { parent: revisionName },
    query: pageQuery(100),
    ok: 200,
    returns: listLabelLocksResponse,
    cli: { columns, examples: ['opsctl labels revisions locks list Contract published'] },
  }),
} as const satisfies Resource;
