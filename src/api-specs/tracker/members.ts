import { bool, help, list, req, uuid } from '../../core/field.ts';
import { type Resource, op } from '../../core/operation.ts';
import { member, memberInfo } from './workspace-records.ts';

const columns = ['id', 'profile.name', 'profile.mention_name', 'role', 'disabled'] as const;

export const members = {
  me: op({
    method: 'GET',
    path: '/member',
    summary: 'Show the member that the token belongs to',
    cites: 'spec/tracker#members',
    ok: 200,
    returns: memberInfo,
    cli: { columns: ['id', 'name', 'mention_name', 'role'] },
  }),
  list: op({
    method: 'GET',
    path: '/members',
    summary: 'List members',
    cites: 'spec/tracker#members',
    query: { disabled: help(bool(), 'true: only disabled members; false: only enabled') },
    ok: 200,
    returns: list(member),
    cli: { columns },
  }),
  get: op({
    method: 'GET',
    path: '/members/{member-public-id}',
    summary: 'Show a member',
    cites: 'spec/tracker#members',
    params: { 'member-public-id': req(help(uuid(), 'The member')) },
    ok: 200,
    returns: member,
    cli: { columns },
  }),
} as const satisfies Resource;
