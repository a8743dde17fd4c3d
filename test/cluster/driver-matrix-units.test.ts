import { driverMatrix } from '../support/driver-matrix.ts';

driverMatrix('systemd', 'ssh + systemd');
