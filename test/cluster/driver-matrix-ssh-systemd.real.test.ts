import { driverMatrix } from '../support/driver-matrix.ts';

driverMatrix('ssh + systemd');
