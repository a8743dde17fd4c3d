import { driverMatrix } from '../support/driver-matrix.ts';

driverMatrix('local', 'ssh + local', 'hooks', 'docker');
