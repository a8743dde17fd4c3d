import { type Page, heading, prose, shell, terms } from '../../core/page.ts';

export const page: Page = {
  title: 'opsctl help output',
  summary: 'Formats, columns and filters; what goes to standard output',
  blocks: [
    prose(
      'Standard output holds the answer and nothing else. Messages, progress, warnings and errors go to standard error. Without -o the answer is a table on a terminal, and JSON in a pipe or a file.',
    ),
    heading('Formats'),
    terms([
      ['-o table', 'Columns that fit the terminal. Ids and names are never cut; long text is.'],
      ['-o json', 'One JSON value: an array of rows, or an object.'],
      ['-o ndjson', 'One JSON object a line, written as the rows come.'],
      ['-o yaml', 'The same data as YAML.'],
      ['-o csv', 'RFC 4180, with a header line unless --no-header is given.'],
      ['-o name', 'The id of each row, one a line, for xargs and loops.'],
    ]),
    heading('Choosing and filtering'),
    terms([
      ['--columns a,b.c', 'Only these fields; dots reach inside. An unknown column is an error.'],
      ['--all-fields', 'A record on a terminal with every field it has.'],
      ['--jq PROGRAM', 'A jq program over the JSON answer; text results are printed bare.'],
      ['--template TEXT', 'A Mustache template over the JSON answer; a list is rendered row by row.'],
      ['--no-header', 'A table or CSV without its header line.'],
    ]),
    heading('Examples'),
    shell('Ids of all labels, for a loop', 'opsctl tracker labels list -o name'),
    shell('Two fields of each row', "opsctl tracker labels list --jq '.[] | [.id, .name] | @tsv'"),
    shell('A spreadsheet', 'opsctl tracker labels list -o csv --columns id,name,color > labels.csv'),
    shell('Text of your own', "opsctl tracker labels list --template '{{name}} ({{id}})'"),
    heading('Errors'),
    prose(
      'Under -o json and -o ndjson an error is one JSON object on standard error, with `code`, `message`, `hint`, `problems`, `docs`, `retryable` and `request_id`. `opsctl explain CODE` says more about it.',
    ),
    heading('Pager'),
    prose(
      'On a terminal a long answer goes to $OPSCTL_PAGER, else $PAGER, else `less`, which ends by itself when all fits on one screen. `--no-pager`, an empty OPSCTL_PAGER or `cat` turns it off; in CI there is none.',
    ),
    heading('Colour and signs'),
    prose(
      '--color beats NO_COLOR, that beats FORCE_COLOR and CLICOLOR_FORCE. In a locale that is not UTF-8 (LANG=C) lines and ticks are drawn in ASCII.',
    ),
  ],
};
