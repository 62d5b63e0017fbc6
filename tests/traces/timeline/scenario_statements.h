#pragma once
// What is asked of the trace of a scenario, in SQL of the trace processor.
#include <map>
#include <string>

namespace orrery {

// Everything is asked in one go, since loading the trace is what takes time;
// each statement has a name.
inline const std::map<std::string, std::string>& Statements() {
  static const auto& statements = *new std::map<std::string, std::string>{
      {"makespan",
       "select count(*), min(ts), max(ts + dur), min(dur) from slice "
       "where name = 'step'"},
      {"slices", "select count(*) from slice"},
      {"flows", "select count(*) from flow"},
      {"ops",
       "select name, count(*), sum(extract_arg(arg_set_id, 'debug.dur_ps')), "
       "sum(dur) from slice where category = 'kernel' group by name order by "
       "name"},
      // A rate times the time is the bytes or flops, up to the bits of the rate
      // that are cut off.
      {"rates of kernels",
       "select count(*), count(case when abs(rate * ps / 1e3 / bytes - 1) > "
       "0.0005 then 1 end) from (select extract_arg(arg_set_id, 'debug.GB/s') "
       "as rate, extract_arg(arg_set_id, 'debug.dur_ps') as ps, "
       "extract_arg(arg_set_id, 'debug.memory_bytes') as bytes from slice "
       "where category = 'kernel') where rate is not null"},
      {"rates of arithmetic",
       "select count(*), count(case when abs(rate * ps / flops - 1) > 0.0005 "
       "then 1 end) from (select extract_arg(arg_set_id, 'debug.TFLOP/s') as "
       "rate, extract_arg(arg_set_id, 'debug.dur_ps') as ps, "
       "extract_arg(arg_set_id, 'debug.flops') as flops from slice where "
       "category = 'kernel') where rate is not null"},
      {"rates of calls",
       "select count(*), count(case when abs(rate * ps / 1e3 / bytes - 1) > "
       "0.0005 then 1 end) from (select extract_arg(arg_set_id, 'debug.GB/s') "
       "as rate, extract_arg(arg_set_id, 'debug.dur_ps') as ps, "
       "extract_arg(arg_set_id, 'debug.bytes') as bytes from slice "
       "where category = 'communication') where rate is not null and bytes > "
       "0"},
      {"bounds",
       "select name, extract_arg(arg_set_id, 'debug.bound') as bound, count(*) "
       "from slice where category = 'kernel' and bound is not null group by "
       "1, 2 order by 1, 2"},
      {"collectives",
       "select t.name, extract_arg(arg_set_id, 'debug.Collective name') as "
       "kind, count(*), sum(extract_arg(arg_set_id, 'debug.dur_ps')), "
       "sum(extract_arg(arg_set_id, 'debug.bytes')) from slice s join track t "
       "on t.id = s.track_id where category = 'communication' group by 1, 2 "
       "order by 1, 2"},
      {"groups",
       "select distinct t.name, extract_arg(arg_set_id, 'debug.Collective "
       "name'), cast(extract_arg(arg_set_id, 'debug.Group size') as text) "
       "from slice s join "
       "track t on t.id = s.track_id where category = 'communication' order by "
       "1, 2, 3"},
      {"path",
       "select count(*), sum(extract_arg(arg_set_id, 'debug.dur_ps')), "
       "sum(dur) from slice where category = 'critical path'"},
      {"waits",
       "select extract_arg(arg_set_id, 'debug.rank') as rank, "
       "extract_arg(arg_set_id, 'debug.cause') as cause, iif(extract_arg("
       "arg_set_id, 'debug.cause') = 'exposed', name, '') as stream, "
       "sum(extract_arg(arg_set_id, 'debug.dur_ps')) from slice where category "
       "= 'wait' group by 1, 2, 3 order by 1, 2, 3"},
      // Time in which something else than kernels lies in it.
      {"optimizer",
       "select coalesce(sum(extract_arg(arg_set_id, 'debug.dur_ps') - "
       "extract_arg(arg_set_id, 'debug.kernels_ps')), 0) from slice where "
       "name = 'optimizer' and category in ('pass', 'pipeline')"},
      {"memory",
       "select r.name, cast(max(c.value) * 1073741824 as int) from counter "
       "c join track t on t.id = c.track_id join track r on r.id "
       "= t.parent_id where t.name = 'memory' group by r.id"},
      {"memory at the end",
       "select name, cast(value * 1073741824 as int) from (select r.name, "
       "c.value, "
       "max(c.ts) from counter c join track t on t.id = c.track_id join track "
       "r on r.id = t.parent_id where t.name = 'memory' group by r.id)"},
      // Activations stand on top of all other kinds, and are gone at the end.
      {"stack",
       "select count(*) from (select p.id, max(case when t.name = 'memory' "
       "then "
       "c.value end) as total, max(case when t.name = 'memory: + activations' "
       "then c.value end) as top, min(case when t.name = 'memory: + "
       "activations' then c.value end) as least, min(case when t.name = "
       "'memory' then c.value end) as held from counter c join track t on t.id "
       "= c.track_id join track p on p.id = t.parent_id where t.name in "
       "('memory', 'memory: + activations') group by p.id) where total != top "
       "or least != held"},
      {"capacity",
       "select distinct cast(c.value * 1073741824 as int) from counter c join "
       "track t on t.id = c.track_id where t.name = 'memory capacity'"},
      {"loads",
       "select min(c.value) >= 0, max(c.value) <= 100 from counter c "
       "join track t on t.id = c.track_id where t.name glob '* load'"},
      {"loads at the end",
       "select distinct value from (select c.value, max(c.ts) from counter c "
       "join track t on t.id = c.track_id where t.name glob '* load' or "
       "t.name = 'compute busy' group by t.id)"},
      {"carried",
       "select above, name, sum(value * dur), count(*) from (select t.id, "
       "p.name "
       "as above, t.name, c.value, lead(c.ts) over (partition by t.id order by "
       "c.ts, c.id) - c.ts as dur from counter c join track t on t.id = "
       "c.track_id join track p on p.id = t.parent_id where t.name glob "
       "'* load' or t.name glob '* goodput') where dur is not null group by "
       "id"},
      {"busy",
       "select name, sum(value * dur) from (select r.name, c.value, "
       "lead(c.ts) over (partition by t.id order by c.ts, c.id) - c.ts as dur "
       "from counter c join track t on t.id = c.track_id join track r on r.id "
       "= t.parent_id where t.name = 'compute busy') where dur is not null "
       "group by name"},
      {"top",
       "select t.name from track t join track p on p.id = t.parent_id "
       "where p.name = 'cluster' order by "
       "extract_arg(t.source_arg_set_id, 'sibling_order_rank')"},
      {"rank",
       "select t.name from track t join track p on p.id = t.parent_id "
       "where p.name glob 'rank 0 *' order by "
       "extract_arg(t.source_arg_set_id, 'sibling_order_rank')"},
      // Messages from a rank to itself, which folding must not show.
      {"to itself",
       "select count(*) from slice where category = 'communication' and "
       "extract_arg(arg_set_id, 'debug.Src Rank') = extract_arg(arg_set_id, "
       "'debug.Dst Rank')"},
      {"shapes",
       "select count(*) from slice where category = 'kernel' and "
       "coalesce(extract_arg(arg_set_id, 'debug.dtype'), "
       "extract_arg(arg_set_id, 'debug.read_bytes')) is null"},
  };
  return statements;
}

}  // namespace orrery
