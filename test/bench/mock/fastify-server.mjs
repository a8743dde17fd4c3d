// The same create operation in fastify, with the same limits as a JSON schema, unique names, and a response of the same
// shape and size.
import { peers } from '../../peers/install.mjs';

const Fastify = peers()('fastify');
const app = Fastify();
/** @param {number} maxLength */
const text = (maxLength) => ({ type: 'string', minLength: 1, maxLength });
const body = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: {
    name: text(128),
    color: { type: 'string', pattern: '^#[0-9a-fA-F]{6}$' },
    description: { type: 'string', maxLength: 1024 },
    external_id: text(128),
  },
};
const stats = Object.fromEntries(
  (
    'num_epics num_epics_completed num_epics_in_progress num_epics_total num_epics_unstarted num_points_backlog num_points_completed ' +
    'num_points_in_progress num_points_total num_points_unstarted num_related_documents num_stories_backlog num_stories_completed ' +
    'num_stories_in_progress num_stories_total num_stories_unestimated num_stories_unstarted'
  )
    .split(' ')
    .map((name) => [name, 0]),
);
const labels = new Map();
const names = new Set();
/**
 * @typedef {{ code(status: number): { send(body: unknown): unknown } }} Reply
 * @typedef {{
 *   readonly headers: Readonly<Record<string, string>>,
 *   readonly body: { readonly name: string, color?: string, description?: string, external_id?: string },
 * }} Request
 */
/**
 * @param {Request} request
 * @param {Reply} reply
 */
const create = (request, reply) => {
  if (request.headers['tracker-token'] !== 'bench') return reply.code(401).send({ message: 'Unauthorized' });
  const { name, color = null, description = null, external_id = null } = request.body;
  if (names.has(name)) return reply.code(422).send({ message: `label ${name} exists` });
  const id = labels.size + 1;
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  const label = {
    id,
    name,
    description,
    color,
    app_url: `http://127.0.0.1/app/label/${id}`,
    archived: false,
    external_id,
    entity_type: 'label',
    created_at: now,
    updated_at: now,
    stats,
  };
  labels.set(id, label);
  names.add(name);
  return reply.code(201).send(label);
};
app.post('/api/v3/labels', { schema: { body } }, create);
await app.listen({ port: 0, host: '127.0.0.1' });
process.stdout.write(`${JSON.stringify({ port: app.server.address().port })}\n`);
