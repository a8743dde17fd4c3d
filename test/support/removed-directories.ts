/** Setup of every test file: removes its temporary directories after its last hook. */
import { afterAll } from 'vitest';
import { removeDirectories } from './directory.ts';

afterAll(removeDirectories);
