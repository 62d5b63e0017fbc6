// What must hold for every trace, whatever is in it. Each rule is a query that
// lists its offenders.
//
// Perfetto files some statistics that mean lost events under "info"; they are
// named here so that they count.
const LOSSES_FILED_AS_INFO = [
  'flow_end_without_start', 'flow_step_without_start',
  'interned_data_skipped_incremental_state_invalid',
  'interned_data_tokenizer_errors', 'tokenizer_skipped_packets',
  'track_event_parser_errors', 'track_event_tokenizer_errors',
  'track_hierarchy_missing_uuid',
];

const RULES = {
  'the trace processor counts a problem': `
    select name, value from stats where value > 0 and (
      severity = 'error' or severity = 'data_loss' or
      name in ('${LOSSES_FILED_AS_INFO.join("', '")}'))`,
  'a slice never ends': 'select name, ts from slice where dur < 0',
  'a slice has no name':
      `select track_id, ts from slice where coalesce(name, '') = ''`,
  'a slice sticks out of the one around it': `
    select child.name, child.ts, around.name from slice child
    join slice around on around.id = child.parent_id
    where child.ts < around.ts or child.ts + child.dur > around.ts + around.dur`,
  'slices of one depth overlap': `
    select name, ts from (
      select name, ts, max(ts + dur) over (
          partition by track_id, depth order by ts, id
          rows between unbounded preceding and 1 preceding) as busy_until
      from slice)
    where ts < busy_until`,
  // Tracks of threads, as JSON has them, are named by their thread.
  'a track has no name': `
    select id from track where coalesce(name, '') = '' and
      type not glob 'thread_*' and (
      id in (select track_id from slice) or
      id in (select track_id from counter))`,
  'a counter has a value that is no number': `
    select track_id, ts from counter
    where value is null or value != value or abs(value) > 1e300`,
  'an arrow goes back in time': `
    select source.name, source.ts, target.name, target.ts from flow
    join slice source on source.id = flow.slice_out
    join slice target on target.id = flow.slice_in
    where target.ts < source.ts`,
};

/** One line per broken rule, with the first offenders. */
export function problems(processor) {
  const lines = [];
  for (const [rule, sql] of Object.entries(RULES)) {
    const rows = processor.query(sql);
    if (rows.length === 0) continue;
    const examples = rows.slice(0, 3).map((row) => row.join(' ')).join('; ');
    lines.push(`${rule} (${rows.length}): ${examples}`);
  }
  return lines;
}
