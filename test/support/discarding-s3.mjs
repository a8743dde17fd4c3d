// An S3-compatible service that stores only sizes and accepts multipart uploads with parts of any size. It prints its port and
// exits when the stdin from its parent closes.
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
