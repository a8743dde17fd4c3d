import { type Page, prose, terms } from '../../core/page.ts';
import { exitCodes } from '../../core/exit.ts';

export const page: Page = {
  title: 'opsctl help exit-codes',
  summary: 'Exit codes, and what to do about each',
  blocks: [
    terms(
      Object.values(exitCodes).map(({ code, meaning, advice }): [string, string] => [
        String(code).padStart(3),
        advice === undefined ? meaning : `${meaning}. ${advice}`,
      ]),
    ),
    prose('`opsctl explain 11` says more about one code. The codes never change their meaning.'),
  ],
};
