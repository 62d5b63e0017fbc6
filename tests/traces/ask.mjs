// Asks Perfetto's trace processor about a trace.
//
//   node ask.mjs TRACE_PROCESSOR.wasm TRACE < statements
//
// Statements are SQL, one per line. The output is one table per question, the
// first being the problems of the trace (see trace_rules.mjs): the number of
// rows, then one row per line, cells separated by tabs.
import fs from 'node:fs';

import {TraceProcessor} from './trace_processor.mjs';
import {problems} from './trace_rules.mjs';

const [wasm, trace] = process.argv.slice(2);
const print = (rows) => {
  const lines = rows.map(
      (row) => row.map((cell) => String(cell).replace(/[\t\n]/g, ' '))
                   .join('\t'));
  process.stdout.write([rows.length, ...lines].join('\n') + '\n');
};
const processor = new TraceProcessor(wasm);
processor.load(trace);
print(problems(processor).map((line) => [line]));
for (const sql of fs.readFileSync(0, 'utf8').split('\n')) {
  if (sql.trim()) print(processor.query(sql));
}
