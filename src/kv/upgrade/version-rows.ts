import { leastOf, minorOf, rowOf, type VersionTable } from '../../api-specs/etcd/versions.ts';

/** What is known of each minor, as one row. */
export const minorRows = (table: VersionTable) =>
  table.minors.map(({ minor, latest, is_ended = false, ended_on = null }) => {
    const rules = table.rules.filter(({ from }) => minorOf(from) === minor);
    const refused = rules.filter(({ on, level }) => on === 'arrive' && level === 'fail');
    return {
      minor,
      is_supported: rowOf(minor) !== undefined,
      latest,
      refused: refused.map(({ from, through }) => (from === through ? from : `${from}-${through}`)),
      arrive_at: leastOf(table, minor, 'arrive', 'warn'),
      leave_from: leastOf(table, minor, 'leave', 'fail'),
      leave_from_recommended: leastOf(table, minor, 'leave', 'warn'),
      is_ended,
      ended_on,
      data_of: table.data_of,
      rules,
    };
  });
