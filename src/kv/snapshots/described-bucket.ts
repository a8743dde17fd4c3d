import type { Bucket, BucketPlace, StoredObject } from '../../platform/bucket.ts';
import { bucketFailure } from './bucket-failure.ts';

/** A bucket whose every failure is a message with an exit code. */
export const describedBucket = (bucket: Bucket, place: BucketPlace): Bucket => {
  const known = (error: unknown): never => {
    throw bucketFailure(place, error);
  };
  const read = async function* <T>(source: AsyncIterable<T>): AsyncGenerator<T> {
    try {
      yield* source;
    } catch (error) {
      known(error);
    }
  };
  return {
    put: (key, data, sizeBytes, signal) => bucket.put(key, data, sizeBytes, signal).catch(known),
    stream: async (key, signal) => {
      const chunks = await bucket.stream(key, signal).catch(known);
      return chunks === undefined ? undefined : read(chunks);
    },
    sizeOf: (key) => bucket.sizeOf(key).catch(known),
    list: (prefix) => read<StoredObject>(bucket.list(prefix)),
    remove: (key) => bucket.remove(key).catch(known),
    discardUploads: (prefix, beforeMs) => bucket.discardUploads(prefix, beforeMs).catch(known),
    close: bucket.close,
  };
};
