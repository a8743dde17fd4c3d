import { OAuthPageError } from '../errors.ts';
import type { Rule, RequestCall } from './rule.ts';

/** facts 2.38: marks of embedded browsers. A text browser or a script has none of them. */
const marks: readonly { readonly name: string; holds(agent: string): boolean }[] = [
  {
    name: 'a web view of mobile platform A',
    holds: (agent) => /; wv\)/.test(agent) || /Version\/4\.0 Chrome\//.test(agent),
  },
  {
    name: 'a web view of mobile platform B',
    holds: (agent) =>
      /\b(iPhone|iPad|iPod|Macintosh)\b/.test(agent) && /AppleWebKit/.test(agent) && !/Safari\//.test(agent),
  },
  {
    name: 'a web view of the universal desktop platform',
    holds: (agent) => /\b(MSAppHost|WebView)\//.test(agent),
  },
  {
    name: 'the browser inside a social app',
    holds: (agent) =>
      /\b(FBAN|FBAV|FB_IAB|Instagram|Snapchat|MicroMessenger|Line\/|TwitterAndroid|Twitter for |LinkedInApp|Pinterest\/|musical_ly|BytedanceWebview|TikTok|KAKAOTALK|NAVER\(|Teams\/)/.test(
        agent,
      ),
  },
  {
    name: 'a desktop framework',
    holds: (agent) => /\b(Electron|CefSharp|CEF|QtWebEngine|JavaFX)\//.test(agent),
  },
];

/** doc1 What the service does 4 and Errors disallowed_useragent. */
export const userAgentIsABrowser: Rule<RequestCall> = ({ request }) => {
  const agent = request.headers['user-agent'] ?? '';
  const mark = marks.find(({ holds }) => holds(agent));
  if (mark !== undefined)
    throw new OAuthPageError('disallowed_useragent', `The browser says that it is ${mark.name}`);
};
