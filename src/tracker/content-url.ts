import { AppError } from '../core/problem.ts';

/** Where a service says that a content is: an address of the web, relative to where it said so. */
export const needContentUrl = (text: string, base: string | URL, what: string): URL => {
  const url = URL.canParse(text, String(base)) ? new URL(text, String(base)) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new AppError('network', `${what}: ${JSON.stringify(text.slice(0, 200))} is no http address`, {
    code: 'OTHER_SHAPE',
    tryThis: ['check the base URL: another service may be answering'],
  });
};
