import { driverMatrix } from '../support/driver-matrix.ts';

driverMatrix('podman');
