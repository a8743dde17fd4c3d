// A bare node:http server that renders its records anew for each request: what anyone would write in ten lines.
import { createServer } from 'node:http';

let labels = [];
const server = createServer((request, reply) => {
  if (request.method === 'PUT') {
    let text = '';
    request
      .on('data', (chunk) => (text += chunk))
      .on('end', () => {
        labels = JSON.parse(text);
        reply.end();
      });
    return;
  }
  reply.setHeader('content-type', 'application/json').end(JSON.stringify(labels));
});
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${JSON.stringify({ port: server.address().port })}\n`),
);
