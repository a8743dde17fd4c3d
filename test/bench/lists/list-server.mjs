// GET /api/v3/labels/7 returns one label. GET /api/v3/labels?rows=N returns N labels as one JSON array. The server
// writes the array in pieces and stores no labels.
import { createServer } from 'node:http';

/** @param {number} id */
const label = (id) =>
  JSON.stringify({
    app_url: `https://tracker.example/org/label/${id}`,
    archived: false,
    color: '#2a7de1',
    created_at: '2026-01-01T10:00:00Z',
    description: 'some words some words some words',
    entity_type: 'label',
    external_id: null,
    global_id: `v2:l:5f0a:${id}`,
    id,
    name: `n${id}`,
    stats: Object.fromEntries(
      [
        'epics',
        'epics_completed',
        'epics_in_progress',
        'epics_total',
        'epics_unstarted',
        'points_backlog',
        'points_completed',
        'points_in_progress',
        'points_total',
        'points_unstarted',
        'related_documents',
        'stories_backlog',
        'stories_completed',
        'stories_in_progress',
        'stories_total',
        'stories_unestimated',
        'stories_unstarted',
      ].map((name) => [`num_${name}`, 0]),
    ),
    updated_at: '2026-01-01T10:00:00Z',
  });

/**
 * Waits until the reader has received the written data or has disconnected.
 * @param {import('node:http').ServerResponse} reply
 * @returns {Promise<void>}
 */
const room = (reply) =>
  new Promise((resolve) => {
    const go = () => {
      reply.off('drain', go);
      reply.off('close', go);
      resolve();
    };
    reply.on('drain', go);
    reply.on('close', go);
  });
/**
 * Returns the number of rows from the URL or from the number in the first part of the token (`Tracker-Token: rows-1000`).
 * @param {import('node:http').IncomingMessage} request
 */
const rowsOf = (request) =>
  Number(
    new URL(request.url ?? '', 'http://x').searchParams.get('rows') ??
      /^rows-(\d+)$/.exec(String(request.headers['tracker-token'] ?? ''))?.[1] ??
      0,
  );
const server = createServer(async (request, reply) => {
  const rows = rowsOf(request);
  reply.writeHead(200, { 'content-type': 'application/json' });
  const one = /\/labels\/(\d+)$/.exec(new URL(request.url ?? '', 'http://x').pathname);
  if (one !== null) return reply.end(label(Number(one[1])));
  reply.write('[');
  for (let id = 1; id <= rows; ) {
    let piece = '';
    for (; id <= rows && piece.length < 65_536; id++) piece += (id > 1 ? ',' : '') + label(id);
    if (!reply.write(piece)) await room(reply);
    if (reply.destroyed) return;
  }
  reply.end(']');
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object') process.stdout.write(`${address?.port}\n`);
});
process.stdin.resume().once('end', () => process.exit(0));
