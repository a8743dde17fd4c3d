import { type Page, heading, prose } from '../../core/page.ts';
import { globalFlags } from '../globals.ts';
import { flagTerms } from '../flag-terms.ts';

export const page: Page = {
  title: 'opsctl help flags',
  summary: 'Flags that every command takes, before, between or after its words',
  blocks: [
    heading('Flags'),
    flagTerms(globalFlags),
    prose(
      'A command may have a flag of the same name: its own meaning wins there. `labels create --color #2a7de1` sets the colour of a label, and `--color never` still turns colours of the output off.',
    ),
    prose('A switch takes a value too: `--dry-run=false`. `--` ends the flags.'),
  ],
};
