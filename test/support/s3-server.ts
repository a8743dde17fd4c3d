/**
 * S3-compatible services for the tests: a package from npm that checks signatures and clocks, in this process, and a package
 * from Debian with full support for multipart uploads.
 */
import { rmSync } from 'node:fs';
import S3rver from 's3rver';
import { makeDirectory } from './directory.ts';

export type S3Server = {
  readonly url: string;
  /** Environment variables with the credentials that a program needs. */
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
};

/** Starts the service with a bucket `backups`. */
export const startS3 = async (): Promise<S3Server> => {
  const directory = makeDirectory('s3-');
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: 'backups', configs: [] }],
  });
  const { port } = await server.run();
  return {
    url: `http://127.0.0.1:${port}`,
    env: { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER', AWS_EC2_METADATA_DISABLED: 'true' },
    close: async () => {
      await server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
};
