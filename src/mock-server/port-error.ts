import { AppError } from '../core/problem.ts';

/** Why the server cannot listen on this port, in words; every other error as it is. */
export const portError = (error: unknown, port: number): unknown => {
  const { code } = error as { code?: string };
  if (code === 'EADDRINUSE') {
    return new AppError('config', `port ${port} of 127.0.0.1 is in use`, {
      code: 'PORT_IN_USE',
      tryThis: ['another --port, or --port 0 for a free one', 'opsctl mock status (is it this server?)'],
    });
  }
  if (code === 'EACCES') {
    return new AppError('config', `this user may not listen on port ${port}`, {
      code: 'PORT_NOT_ALLOWED',
      tryThis: ['a --port above 1023, or --port 0'],
    });
  }
  return error;
};
