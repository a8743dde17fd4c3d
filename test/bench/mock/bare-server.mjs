// A bare node:http server that serializes its records again for each request, as a ten-line script would do.
import { createServer } from 'node:http';

/** @type {unknown} */
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
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object') process.stdout.write(`${JSON.stringify({ port: address?.port })}\n`);
});
