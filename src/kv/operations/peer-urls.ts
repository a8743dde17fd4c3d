import { invalidArguments, problem } from '../../core/problem.ts';

/** Whole URLs of a scheme, a host and a port, and nothing else: the store takes no other. */
export const peerUrlsOf = (text: string): string[] => {
  const urls = text.split(',').map((url) => url.trim());
  const isPeerUrl = (url: string): boolean =>
    URL.canParse(url) &&
    /^https?:$/.test(new URL(url).protocol) &&
    new URL(url).port !== '' &&
    new URL(url).pathname === '/' &&
    !url.endsWith('/');
  const wrong = urls.find((url) => !isPeerUrl(url));
  if (wrong === undefined) return urls;
  throw invalidArguments([
    problem('--peer-urls', 'format', `must be URLs like http://10.0.0.4:2380; got ${JSON.stringify(wrong)}`),
  ]);
};
