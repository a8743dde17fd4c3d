import { describe } from 'vitest';
import { hasBinaries, pair } from '../support/cluster.ts';
import { cutScenes } from '../support/cut-scenes.ts';

describe.runIf(hasBinaries(pair.from, pair.to))(
  'the network of one member is cut in the middle: connections are closed and refused',
  () => cutScenes('refused'),
);
