/** Setup of every test file: closes its resources and removes its temporary directories after its last hook. */
import { afterAll } from 'vitest';
import { closeResources } from './closing.ts';
import { removeDirectories } from './directory.ts';

afterAll(async () => {
  await closeResources();
  removeDirectories();
});
