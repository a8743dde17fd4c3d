// An S3-compatible service that keeps nothing but sizes: it takes an upload in parts of any size. Prints its port; ends with its parent's stdin.
import { createServer } from 'node:http';

const sizes = new Map();
const xml = (reply, body) => reply.setHeader('content-type', 'application/xml').end(body);

const handle = (request, reply, received) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  if (request.method === 'HEAD') return reply.setHeader('content-length', sizes.get(pathname) ?? 0).end();
  if (request.method === 'POST' && searchParams.has('uploads'))
    return xml(
      reply,
      '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>',
    );
  if (request.method === 'POST')
    return xml(reply, '<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>');
  sizes.set(pathname, (sizes.get(pathname) ?? 0) + received);
  return reply.setHeader('etag', `"${searchParams.get('partNumber') ?? 'whole'}"`).end();
};

const server = createServer((request, reply) => {
  let received = 0;
  request.on('data', (chunk) => {
    received += chunk.length;
  });
  request.on('end', () => handle(request, reply, received));
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
process.stdin.resume().on('end', () => process.exit());
