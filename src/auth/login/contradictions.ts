import { type Problem, problem } from '../../core/problem.ts';
import type { AskedLogin } from './asked.ts';

const ways = ['start', 'finish', 'token-stdin', 'scripted'] as const;

/** What the program sets itself: a parameter must not change what the answer is checked against. */
const ownParams = new Set([
  'client_id',
  'client_secret',
  'redirect_uri',
  'response_type',
  'response_mode',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'login_hint',
]);
const paramProblems = (params: readonly string[] = []): Problem[] =>
  params.flatMap((pair) => {
    const name = pair.split('=')[0] ?? '';
    if (name === '' || !pair.includes('='))
      return [problem('--param', 'format', `must be name=value; got ${JSON.stringify(pair)}`)];
    return ownParams.has(name)
      ? [problem('--param', 'rule', `cannot set ${name}; the sign-in sets it itself`)]
      : [];
  });
const methodProblems = (values: AskedLogin): Problem[] => {
  const { method } = values;
  if (method === undefined || method === 'browser') return [];
  const browserOnly = (['start', 'finish', 'token-stdin', 'add-scope', 'param', 'port'] as const).filter(
    (name) => values[name] !== undefined && values[name] !== false,
  );
  return browserOnly.map((name) =>
    problem(`--${name}`, 'exclusive', `cannot be combined with --method ${method}`),
  );
};

/** Combinations that contradict each other. */
export const loginProblems = (values: AskedLogin): Problem[] => {
  const given = ways.filter((way) => values[way] !== undefined && values[way] !== false);
  const problems: Problem[] = [];
  if (given.length > 1)
    problems.push(problem(`--${given[0]}`, 'exclusive', `cannot be combined with --${given[1]}`));
  if (values['token-stdin'] === true && values['client-secret-stdin'] === true)
    problems.push(
      problem(
        '--token-stdin',
        'exclusive',
        'cannot be combined with --client-secret-stdin: there is one standard input',
      ),
    );
  if (values.finish === '-' && values['client-secret-stdin'] === true)
    problems.push(
      problem(
        '--finish',
        'exclusive',
        'cannot be - together with --client-secret-stdin: there is one standard input',
      ),
    );
  problems.push(...paramProblems(values.param), ...methodProblems(values));
  const path = values['redirect-path'];
  if (path !== undefined && path !== 'random' && !/^(\/[!$%&'()*+,\-./0-9:;=@A-Z_a-z~]*)?$/.test(path))
    problems.push(
      problem(
        '--redirect-path',
        'format',
        'must start with / and hold no ?, # or blanks',
        'for example /callback',
      ),
    );
  return problems;
};
