// What each kind of answer shows.
'use strict';

const tiles = (list) => el('div', {class: 'tiles'}, list.filter(([, value]) => value !== undefined).map(
    ([name, value]) => el('div', {class: 'tile'}, el('span', {class: 'soft'}, name), el('b', {}, value))));
const has = (value) => value !== undefined && value !== null;
const when = (value, show) => has(value) ? show(value) : undefined;
const notes = (list) => (list ?? []).map((note) => el('p', {class: 'soft'}, `note: ${note}`));

// One bar with all parts, and a table that says the same.
function breakdownSection(title, total, parts) {
  const shown = parts.filter(([, value]) => value > 0);
  if (shown.length === 0) return null;
  const drawing = svg('svg', {viewBox: `0 0 ${WIDTH} 46`, role: 'img',
    'aria-label': `${title}: ${shown.map(([name, v]) => `${name} ${percent(v / total)}`).join(', ')}`});
  // What a kernel loses is grey, whatever its place.
  const color = (i) => shown[i][0] === 'kernels slowed by communication' ? 7 : i % 7;
  let x = 10;
  shown.forEach(([name, value], i) => {
    const w = (WIDTH - 20) * value / total;
    drawing.append(svg('rect', {x, y: 8, width: w, height: 30, class: `c${color(i)}`, stroke: 'var(--panel)'},
        svg('title', {}, `${name}: ${seconds(value)}`)));
    x += w;
  });
  return section(title, el('div', {class: 'scroll'}, drawing), table(null, ['', 'time', 'share', ''], shown.map(
      ([name, value], i) => [name, seconds(value), percent(value / total), bar(value / total, color(i))]), [0, 3]));
}
const parts = (message) => Object.entries(message ?? {})
    .filter(([, v]) => typeof v === 'number').map(([name, v]) => [words(name), v]);

function memorySection(memory) {
  if (!memory) return null;
  const names = ['weights', 'gradients', 'optimizer', 'activations', 'kv_cache', 'buffers'];
  const need = memory.reserved_bytes ?? memory.peak_bytes;
  const rows = names.map((n) => [n.replace('_', ' '), memory[`${n}_bytes`]]).filter(([, b]) => b > 0)
      .map(([name, b], i) => [name, bytes(b), percent(b / memory.capacity_bytes), bar(b / memory.capacity_bytes, i)]);
  if (memory.reserved_bytes > memory.peak_bytes) {
    const held = memory.reserved_bytes - memory.peak_bytes;
    rows.push(['held by the allocator beside them', bytes(held), percent(held / memory.capacity_bytes), bar(held / memory.capacity_bytes, 7)]);
  }
  const stages = memory.stages ?? [];
  return section('Memory',
      el('p', {}, `${bytes(need)} of ${bytes(memory.capacity_bytes)}: `,
          el('span', {class: memory.fits ? '' : 'bad'}, memory.fits ? 'fits' : 'DOES NOT FIT')),
      rows.length ? table(null, ['', 'bytes', 'of capacity', ''], rows, [0, 3]) : null,
      stages.length > 1 ? el('details', {}, el('summary', {}, 'by pipeline rank'),
          table(null, ['pipeline rank', 'peak', ''], stages.map((s, i) =>
              [i, bytes(s.peak_bytes), bar(s.peak_bytes / memory.capacity_bytes, 0)]), [2])) : null,
      (memory.changes ?? []).length ? table('It would fit with any of these, each simulated',
          ['settings', 'memory', 'step time'], memory.changes.map((c) =>
              [(c.settings ?? []).join(' '), bytes(c.peak_bytes), seconds(c.step_time_s)])) : null);
}

const interval = (i) => i ? `${dollars(i.nominal ?? 0)} (${dollars(i.low ?? 0)} to ${dollars(i.high ?? 0)})` : '-';
// "goodput 0.9", "utilisation 0.6": what tokens and runs are divided by.
const productive = (cost) => {
  const factor = (cost?.factors ?? []).find((f) => f.id === 'run/goodput' || f.id === 'serving/utilisation');
  return factor ? `${factor.id.split('/')[1]} ${Number(cost.productive_share.toPrecision(6))}` : '';
};
function costSection(cost) {
  if (!cost) return null;
  const made = (name) => `${name} (${productive(cost)})`;
  return section('Cost',
      table(null, ['', 'nominal (middle 90 %)'], [
        ['chip-hour', cost.chip_hour], ['chip-hour, prefilling', cost.prefill_chip_hour],
        ['step', cost.step], [made('run'), cost.run],
        [made('million tokens'), cost.million_tokens], [made('million input tokens'), cost.million_input_tokens],
        [made('million output tokens'), cost.million_output_tokens], ['capital', cost.capital],
      ].filter(([, v]) => v).map(([name, v]) => [name, interval(v)])),
      (cost.items ?? []).length ? el('details', {}, el('summary', {}, 'what is bought'),
          table(null, ['', 'count', 'price', 'total', 'price of'], cost.items.map((i) =>
              [i.what, count(i.count ?? 0), dollars(i.price?.nominal ?? 0), dollars(i.total?.nominal ?? 0), i.date ?? ''])),
          table('A chip-hour', ['', 'USD'], (cost.chip_hour_shares ?? []).map((s) =>
              [s.what, dollars(s.dollars?.nominal ?? 0)]))) : null,
      (cost.factors ?? []).length ? el('details', {}, el('summary', {}, `factors between these (${productive(cost)})`),
          table(null, ['', '', 'nominal', 'low to high', 'from', '--set'], cost.factors.map((f) =>
              [f.id, f.what ?? '', `${f.value?.nominal ?? 0} ${f.unit ?? ''}`, `${f.value?.low ?? 0} to ${f.value?.high ?? 0}`,
                `${f.from ?? ''} ${f.date ?? ''}`, f.setting ?? '']))) : null,
      el('p', {class: 'soft'}, `Prices: ${cost.prices ?? ''}, ${cost.terms ?? ''}` +
          (cost.oldest_price ? `, from ${cost.oldest_price} to ${cost.newest_price}` : '')));
}

const flat = (title, message) => message ? section(title, table(null, ['', ''],
    Object.entries(message).filter(([, v]) => typeof v !== 'object').map(([n, v]) => [words(n), quantity(n, v)]))) : null;

function reportSections(report, picture) {
  const r = report.inference;
  const step = report.step_time_s;
  const e = report.estimate;
  return [
    tiles(r ? [
      ['time to first token', when(r.time_to_first_token_s, seconds)],
      ['time per output token', when(r.time_per_output_token_s, seconds)],
      ['end to end', when(r.end_to_end_s, seconds)],
      ['output tokens/s', when(r.output_tokens_per_s, count)],
      ['output tokens/s/chip', when(report.tokens_per_s_per_chip, count)],
      [`million output tokens, ${productive(report.cost)}`, when(report.cost?.million_output_tokens?.nominal, dollars)],
    ] : [
      ['step time', seconds(step)], ['tokens/s', when(report.tokens_per_s, count)],
      ['tokens/s/chip', when(report.tokens_per_s_per_chip, count)], ['MFU', when(report.mfu, percent)],
      ['closed form', when(e?.step_time_s, seconds)],
      [`million tokens, ${productive(report.cost)}`, when(report.cost?.dollars_per_million_tokens, dollars)],
      [`energy per token, PUE ${report.energy?.pue}, ${productive(report.cost)}`, when(report.energy?.joules_per_token, (j) => `${Number(j.toPrecision(3))} J`)],
    ]),
    breakdownSection(r ? 'Where the time of a decode step goes' : 'Where the time goes', step, parts(report.breakdown)),
    picture && (picture.lanes?.length > 1 || picture.lanes?.[0]?.slices?.length > 2) ? pipelinePicture(picture) : null,
    picture ? memoryPicture(picture, report.memory?.capacity_bytes) : null,
    memorySection(report.memory),
    report.difference ? section('Simulation against closed form',
        el('p', {}, `simulated ${seconds(step)}, closed form ${seconds(e.step_time_s)}`),
        table(null, ['effect', 'seconds'], [...(report.difference.effects ?? []).map((f) => [f.name, f.seconds ?? 0]),
          ['unexplained', report.difference.unexplained_s ?? 0]].map(
            ([name, s]) => [name, signed(seconds(Math.abs(s)), s)]))) : null,
    flat('Request', r), flat('Pools', r?.pools), flat('Closed form', e), flat('Bounds', report.bounds),
    costSection(report.cost), flat('Energy', report.energy),
    ...(report.measured ?? []).map((m) => el('p', {}, `measured: ${words(m.quantity)} ${Number(m.measured.toPrecision(4))}` +
        (has(m.predicted) ? `, predicted ${Number(m.predicted.toPrecision(4))} (${signed(percent(Math.abs(m.error)), m.error)})` : '') +
        (m.note ? `; ${m.note}` : '') + ` [${m.source}]`)),
    report.trust ? el('p', {}, `trust: ${report.trust}`) : null, ...notes(report.warnings),
    flat('The run itself', report.engine),
  ];
}

// What the ranks that a rank waited for were doing.
function waitParts(list) {
  const rows = (list ?? []).flatMap((s) => (s.parts ?? []).map((p) => [s.name, p.name, seconds(p.time_s ?? 0)]));
  return rows.length ? section('What that rank waited for', table(null, ['', 'of it', 'time'], rows, [0, 1])) : null;
}

function explanationSections(x) {
  const shares = (list) => (list ?? []).map((s) => [s.name, s.time_s ?? 0]);
  return [
    tiles([['step time', seconds(x.step_time_s)], ['a step costs', when(x.dollars_per_step, dollars)], [`the run costs (goodput ${x.productive_share})`, when(x.dollars_per_run, dollars)]]),
    el('p', {}, x.bottleneck),
    (x.removals ?? []).length ? section('What could be taken away: the step without it, each simulated',
        table(null, ['', '', 'step', 'less'], x.removals.map((r) =>
            [r.cause, r.where ?? '', seconds(r.step_time_s), percent(r.saved)]))) : null,
    breakdownSection('Critical path by cause', x.step_time_s, shares(x.critical_path)),
    breakdownSection(`How rank ${x.busiest_rank ?? 0} spends the step`, x.step_time_s, shares(x.rank_time)),
    waitParts(x.rank_time),
    section('Longest tasks on the critical path', table(null, ['task', 'time', 'share', 'count'],
        (x.top_tasks ?? []).map((t) => [t.name, seconds(t.time_s ?? 0), percent(t.share ?? 0), t.count ?? 0]))),
    section('Communication', table(null, ['stream', 'kind', 'calls', 'total', 'exposed', 'hidden'],
        (x.communication ?? []).map((c) => [c.stream, c.kind, c.count, seconds(c.total_s ?? 0), seconds(c.exposed_s ?? 0), seconds(c.hidden_s ?? 0)]), [0, 1])),
    section('Use of resources', table(null, ['resource', 'mean', 'most used', 'of', ''],
        (x.utilisation ?? []).map((u) => [u.resource, percent(u.mean ?? 0), percent(u.most ?? 0), u.count, bar(u.mean ?? 0, 0)]), [0, 4])),
    (x.sensitivity ?? []).length ? section('What would help', table('Step time if a resource were better, each simulated',
        ['resource', '10 % better', 'saves', 'twice as good', 'saves', ''], x.sensitivity.map((s) => [s.resource,
          seconds(s.step_time_10_percent_s), percent(s.saved_10_percent ?? 0), seconds(s.step_time_twice_s), percent(s.saved_twice ?? 0),
          bar(s.saved_twice ?? 0, 2)]), [0, 5])) : null,
  ];
}

function accuracySections(accuracy) {
  return (accuracy.suites ?? []).flatMap((suite) => {
    const rows = (suite.rows ?? []).filter((row) => row.measured_s > 0 && row.predicted_s > 0);
    const barred = (suite.groups ?? []).filter((g) => has(g.mean_bar ?? g.median_bar ?? g.worst_bar));
    const missed = barred.filter((g) => !g.met).length;
    const verdict = !suite.rows_predicted ? 'no row could be predicted' : !barred.length ? 'no bars' :
      missed ? `${missed} of ${barred.length} bars missed` : 'every bar is met';
    const what = (row) => [row.training?.model, row.training?.plan, row.kernel?.chip, row.kernel?.kernel, row.collective?.system,
      row.collective?.collective, row.inference?.model, row.inference?.quantity, row.money?.quantity].filter(has).join(', ');
    const show = suite.suite === 'cost' ? (v) => count(v) : seconds;
    const line = (factor, dash) => (drawing, across, up, [lo, hi]) => drawing.append(svg('line', {class: 'axis',
      x1: across(lo), y1: up(lo * factor), x2: across(hi), y2: up(hi * factor), 'stroke-dasharray': dash}));
    return [
      section(`${suite.suite}: ${verdict}`,
          el('p', {class: 'soft'}, `${suite.table}: ${suite.rows_predicted ?? 0} rows predicted, ${suite.rows_refused ?? 0} refused`),
          rows.length ? legend([['held out', 0], ['a constant was fitted on it', 1]]) : null,
          rows.length ? scatter(`${suite.suite}: predicted against measured`, rows.map((row) => ({
            x: row.measured_s, y: row.predicted_s, color: row.fitted ? 1 : 0, shape: row.fitted ? 'square' : 'circle', layer: row.fitted ? 1 : 0,
            text: `${row.id ?? ''} ${what(row)}: measured ${show(row.measured_s)}, predicted ${show(row.predicted_s)} (${signed(percent(Math.abs(row.error)), row.error)})`,
          })), {name: 'measured', log: true, show}, {name: 'predicted', log: true, show}, (...to) => {
            line(1, '')(...to);
            line(1.1, '4 4')(...to);
            line(1 / 1.1, '4 4')(...to);
          }) : null,
          rows.length ? el('p', {class: 'soft'}, 'Lines: equal, and 10 % to either side.') : null,
          table('Absolute errors', ['group', 'rows', 'fitted', 'mean', 'median', 'held out', '90 %', 'worst', 'bias', 'bars'],
              (suite.groups ?? []).map((g) => [[g.subject, g.part].filter(has).join(', ') || 'all', g.rows, g.fitted ?? 0,
                percent(g.mean ?? 0), percent(g.median ?? 0), when(g.held_out_median, percent) ?? '', percent(g.p90 ?? 0),
                percent(g.worst ?? 0), percent(g.bias ?? 0), !has(g.mean_bar ?? g.median_bar ?? g.worst_bar) ? '' :
                  el('span', {class: g.met ? '' : 'bad'}, g.met ? 'met' : 'missed')])),
          (suite.refused ?? []).length ? el('details', {}, el('summary', {}, 'refused rows'),
              table(null, ['row', 'reason'], suite.refused.map((r) => [r.id ?? r.line, r.reason]), [0, 1])) : null),
    ];
  });
}

const terms = (list, names) => table(null, ['', ...names, 'difference'], (list ?? []).map((t) => {
  const d = (t.first_s ?? 0) - (t.second_s ?? 0);
  return [words(t.term), seconds(t.first_s ?? 0), seconds(t.second_s ?? 0),
    el('span', {class: d > 0 ? 'more' : 'less'}, signed(seconds(Math.abs(d)), d))];
}));

function tuningSections(t) {
  const plans = t.plans ?? [];
  const best = plans[0];
  const time = (report) => report.inference?.end_to_end_s ?? report.step_time_s;
  const row = (name, plan) => [name, seconds(time(plan.report)), seconds(plan.estimated_step_time_s ?? 0),
    bytes(plan.report.memory?.peak_bytes ?? 0), plan.report.memory?.fits ? 'yes' : 'NO',
    when(plan.report.cost?.dollars_per_million_tokens, dollars) ?? '', plan.description];
  return [
    tiles([['best', when(best, (b) => seconds(time(b.report)))], ['as said', seconds(time(t.said.report))],
      ['plans', count(t.plans_considered ?? 0)], ['estimated', count(t.plans_estimated ?? 0)], ['cannot win', count(t.plans_pruned ?? 0)],
      ['do not fit', count(t.plans_too_large ?? 0)]]),
    section('The best plans, simulated', table(null, ['rank', 'simulated', 'estimated', 'memory', 'fits', `per million tokens, ${productive(best?.report.cost)}`, 'plan'],
        [...plans.map((p, i) => row(i + 1, p)), row('said', t.said)], [6]),
        best?.report.trust ? el('p', {}, `trust in the best: ${best.report.trust}`) : null,
        t.order_changed ? el('p', {}, 'Simulation ranks them otherwise than the closed form does.') : null),
    best ? section('The best against the plan as said', terms(t.against_said, ['best', 'said'])) : null,
    plans.length > 1 ? section('The best against the second', terms(t.against_second, ['best', 'second'])) : null,
    best ? section('To use it', el('pre', {}, (best.settings ?? []).map((s) => `--set ${s}`).join('\n'))) : null,
    best ? breakdownSection('Where the time of the best goes', best.report.step_time_s, parts(best.report.breakdown)) : null,
  ];
}

function comparisonSections(c) {
  const sides = c.sides ?? [];
  const rows = (c.rows ?? []).filter((row) => row.values.some((v) => v.number));
  const groups = new Map();
  for (const row of rows) {
    const dot = row.field.indexOf('.');
    const group = dot < 0 ? 'answer' : row.field.slice(0, dot);
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(row);
  }
  const lines = [...groups].flatMap(([group, list]) => [
    el('tr', {class: 'section'}, el('th', {scope: 'rowgroup', colspan: sides.length + 2}, group)),
    ...list.map((row) => {
      const [a, b] = row.values.map((v) => v.number);
      const change = sides.length === 2 && a && has(b) && a !== b ? b / a - 1 : undefined;
      return el('tr', {}, el('th', {scope: 'row', class: 'text'}, words(row.field)),
          row.values.map((v) => el('td', {}, quantity(row.field, v.number))),
          el('td', {}, has(change) ? signed(percent(Math.abs(change)), change) : ''));
    })]);
  return [
    tiles(sides.map((side) => [side.name, seconds(side.report.inference?.end_to_end_s ?? side.report.step_time_s)])),
    ...(c.against ?? []).map((a) => section(`${sides[a.side].name} against ${sides[0].name}: ${c.quantity} ` +
        `${signed(seconds(Math.abs(a.second_s - a.first_s)), a.second_s - a.first_s)} (${signed(percent(Math.abs(a.second_s / a.first_s - 1)), a.second_s - a.first_s)})`,
        terms((a.terms ?? []).map((t) => ({term: t.term, first_s: t.second_s, second_s: t.first_s})), [sides[a.side].name, sides[0].name]),
        (a.causes ?? []).length ? table('Differences of the input, and what each changes by itself', ['change', 'effect'],
            [...a.causes.map((cause) => [(cause.changes ?? []).join('; '), has(cause.effect_s) ?
              signed(seconds(Math.abs(cause.effect_s)), cause.effect_s) : cause.problem ?? '']),
            ...(has(a.together_s) && a.causes.length > 1 ? [['together, beyond that', signed(seconds(Math.abs(a.together_s)), a.together_s)]] : [])]) : null)),
    ...sides.map((side) => breakdownSection(`Where the time of ${side.name} goes`, side.report.step_time_s, parts(side.report.breakdown))),
    section('Side by side', el('div', {class: 'scroll'}, el('table', {}, el('thead', {}, el('tr', {}, el('th', {scope: 'col', class: 'text'}, ''),
        sides.map((side) => el('th', {scope: 'col'}, side.name)), el('th', {scope: 'col'}, sides.length === 2 ? 'difference' : ''))),
        el('tbody', {}, lines)))),
    ...sides.filter((side) => side.report.trust).map((side) => el('p', {}, `trust in ${side.name}: ${side.report.trust}`)),
    ...notes(c.notes),
  ];
}

function sweepSections(s) {
  const columns = s.columns ?? [];
  const head = ['point', ...(s.axes ?? []), ...columns.map((c) => c.name), 'trust'];
  const line = (p) => [p.point ?? 0, ...(p.values ?? []), ...(p.problem ? [p.problem] : [...(p.columns ?? []).map((v, i) => quantity(columns[i].name, v)),
    has(p.trust_error) ? `${p.trust} ${percent(p.trust_error)}` : p.trust ?? ''])];
  const name = (p) => `point ${p.point ?? 0}: ` + (s.axes ?? []).map((a, i) => `${a} ${p.values[i]}`).join(', ') + '; ' +
      columns.map((c, i) => `${c.name} ${quantity(c.name, p.columns[i])}`).join(', ');
  const plane = el('div', {});
  const axes = [0, Math.min(1, columns.length - 1)];
  const draw = () => {
    const front = s.front ?? [];
    const on = new Set(front.map((p) => p.point ?? 0));
    const points = [...(s.sample ?? []).filter((p) => !on.has(p.point ?? 0)).map((p) => [p, 7, 0]), ...front.map((p) => [p, 5, 1])]
        .map(([p, color, layer]) => ({x: p.columns[axes[0]], y: p.columns[axes[1]], color, layer, text: name(p)}))
        .filter((p) => Number.isFinite(p.x) && Number.isFinite(p.y));
    const axis = (i) => ({name: columns[axes[i]].name, log: false, show: (v) => quantity(columns[axes[i]].name, Number(v.toPrecision(6)))});
    plane.replaceChildren(points.length ? scatter(`${columns[axes[1]].name} against ${columns[axes[0]].name}`, points, axis(0), axis(1),
        (drawing, across, up) => {
          if (axes[0] === axes[1]) return;
          const corners = points.filter((p) => p.layer).sort((a, b) => a.x - b.x);
          drawing.append(svg('polyline', {fill: 'none', class: 'axis', points: corners.map((p) => `${across(p.x)},${up(p.y)}`).join(' ')}));
        }) : el('p', {}, 'No point has an answer.'));
  };
  const choose = (i, label) => el('label', {}, `${label} `, (() => {
    const select = el('select', {}, columns.map((c, k) => el('option', {value: k, ...(k === axes[i] ? {selected: ''} : {})}, c.name)));
    select.addEventListener('change', () => {
      axes[i] = Number(select.value);
      draw();
    });
    return select;
  })(), ' ');
  draw();
  return [
    tiles([['points', count(s.points ?? 0)], ['with an answer', count(s.answered ?? 0)], ['on the front', count((s.front ?? []).length)]]),
    section('Points', choose(0, 'across'), choose(1, 'up'), legend([['Pareto front', 5], [(s.stride ?? 1) > 1 ? `every ${s.stride}th other point` : 'other points', 7]]), plane),
    section('Best', table(columns.length ? `by ${columns[0].name}` : null, head, (s.best ?? []).map(line), [])),
    (s.simulated ?? []).length ? section('The same, simulated', table(null, head, s.simulated.map(line), [])) : null,
    (s.front ?? []).length ? section('Pareto front', table(null, head, s.front.map(line), [])) : null,
    (s.problems ?? []).length ? section('Points without an answer', table(null, ['reason, for example', 'points'],
        s.problems.map((p) => [p.example ?? p.kind, p.count]), [0])) : null,
  ];
}
