// Pictures: passes of a pipeline, memory over time, points in a plane. Each can
// be read with the mouse (hover) and with the keyboard (focus, arrow keys), and
// says what it shows in the line below it.
'use strict';

const WIDTH = 960;

// `items` have a place {x, y, w, h}; `describe` says what one is; `step` gives
// the next for an arrow key. Puts a frame around the one that is looked at.
function inspectable(picture, items, describe, step) {
  const detail = el('p', {class: 'detail soft', 'aria-live': 'polite'},
      'Hover over the picture, or focus it and use the arrow keys.');
  const frame = svg('rect', {class: 'cursor', visibility: 'hidden'});
  picture.append(frame);
  picture.setAttribute('tabindex', '0');
  let at = -1;
  const show = (index) => {
    if (index < 0 || index >= items.length) return;
    at = index;
    const place = items[index];
    frame.setAttribute('x', place.x - 1);
    frame.setAttribute('y', place.y - 1);
    frame.setAttribute('width', place.w + 2);
    frame.setAttribute('height', place.h + 2);
    frame.setAttribute('visibility', 'visible');
    detail.className = 'detail';
    detail.textContent = describe(place);
  };
  picture.addEventListener('pointermove', (event) => {
    const box = picture.getBoundingClientRect();
    const scale = picture.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.left) * scale;
    const y = (event.clientY - box.top) * scale;
    let best = -1;
    let distance = 24 * 24;
    items.forEach((place, i) => {
      const dx = Math.max(place.x - x, 0, x - place.x - place.w);
      const dy = Math.max(place.y - y, 0, y - place.y - place.h);
      if (dx * dx + dy * dy < distance) {
        distance = dx * dx + dy * dy;
        best = i;
      }
    });
    show(best);
  });
  picture.addEventListener('focus', () => show(at < 0 ? 0 : at));
  picture.addEventListener('keydown', (event) => {
    if (!/^(Arrow|Home|End)/.test(event.key)) return;
    event.preventDefault();
    if (event.key === 'Home') return show(0);
    if (event.key === 'End') return show(items.length - 1);
    show(step(Math.max(0, at), event.key));
  });
  return el('div', {}, el('div', {class: 'scroll'}, picture), detail);
}
const byOrder = (at, key) =>
    at + (key === 'ArrowRight' || key === 'ArrowDown' ? 1 : -1);

function frameOf(height, label) {
  return svg('svg', {viewBox: `0 0 ${WIDTH} ${height}`, role: 'img', 'aria-label': label});
}

// Round numbers that divide a range.
function ticks(from, to, most = 6) {
  const raw = (to - from) / most || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const size = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const list = [];
  for (let v = Math.ceil(from / size) * size; v <= to + size * 1e-9; v += size) list.push(v);
  return list;
}

const PHASES = ['forward', 'backward', 'weight gradient', 'optimizer', 'gradient sync', 'prefill', 'decode'];
const phaseColor = (phase) => {
  const i = PHASES.indexOf(phase);
  return i < 0 ? 7 : [0, 1, 2, 3, 4, 0, 1][i];
};

function pipelinePicture(picture) {
  const lanes = picture.lanes ?? [];
  const left = 90;
  const lane = Math.max(14, Math.min(30, 420 / lanes.length));
  const height = lanes.length * lane + 30;
  const across = (s) => left + (WIDTH - left - 10) * s / picture.end_s;
  const drawing = frameOf(height, `Passes of ${lanes.length} pipeline ranks over ${seconds(picture.end_s)}`);
  const items = [];
  lanes.forEach((each, i) => {
    const y = i * lane + 4;
    drawing.append(svg('text', {x: 4, y: y + lane / 2 + 3}, `rank ${each.rank ?? 0}`));
    // Passes that take turns share the lane: one above the other.
    const slices = each.slices ?? [];
    const early = (a, b) => a && b && (b.from_s ?? 0) < a.to_s * (1 - 1e-9);
    let row = 0;
    slices.forEach((slice, k) => {
      const before = early(slices[k - 1], slice);
      row = before ? 1 - row : 0;
      const half = before || early(slice, slices[k + 1]);
      const h = (lane - 4) / (half ? 2 : 1);
      const x = across(slice.from_s ?? 0);
      const w = Math.max(.3, across(slice.to_s) - x);
      const top = y + row * h;
      items.push({x, y: top, w, h, lane: i, slice, rank: each.rank ?? 0});
      drawing.append(svg('rect', {x: x.toFixed(2), y: top, width: w.toFixed(2), height: h,
        class: `c${phaseColor(slice.phase)}`, 'stroke': 'var(--panel)', 'stroke-width': w > 3 ? .7 : 0}));
    });
  });
  for (const t of ticks(0, picture.end_s)) {
    drawing.append(svg('text', {x: across(t), y: height - 8, 'text-anchor': 'middle'}, seconds(t)));
  }
  const middle = (b) => b.x + b.w / 2;
  const step = (at, key) => {
    if (key === 'ArrowLeft' || key === 'ArrowRight') return byOrder(at, key);
    // The nearest slice of the lane above or below.
    const to = items[at].lane + (key === 'ArrowDown' ? 1 : -1);
    let best = at;
    let distance = Infinity;
    items.forEach((b, i) => {
      const d = Math.abs(middle(b) - middle(items[at]));
      if (b.lane === to && d < distance) [best, distance] = [i, d];
    });
    return best;
  };
  const describe = ({slice, rank}) =>
      `rank ${rank}, ${slice.phase}${slice.micro_batch === undefined ? '' : ` of micro-batch ${slice.micro_batch}`}: ` +
      `${seconds(slice.from_s ?? 0)} to ${seconds(slice.to_s)} (${seconds(slice.to_s - (slice.from_s ?? 0))})`;
  const seen = [...new Set(items.map((b) => b.slice.phase))];
  return section('Pipeline',
      legend(seen.map((phase) => [phase, phaseColor(phase)])),
      inspectable(drawing, items, describe, step),
      picture.lanes_left_out ? el('p', {class: 'soft'},
          `${picture.lanes_left_out} pipeline ranks between these are left out.`) : null);
}

function memoryPicture(picture, capacity) {
  const samples = picture.memory ?? [];
  const kinds = picture.memory_kinds ?? [];
  if (samples.length < 2) return null;
  const left = 70;
  const height = 260;
  const total = (s) => s.bytes.reduce((a, b) => a + b, 0);
  const most = 1.05 * Math.max(capacity ?? 0, ...samples.map(total));
  const across = (s) => left + (WIDTH - left - 10) * s / picture.end_s;
  const up = (b) => height - 30 - (height - 40) * b / most;
  const drawing = frameOf(height, `Memory of rank ${picture.memory_rank ?? 0} over the step, by kind`);
  for (const t of ticks(0, most / 2 ** 30)) {
    const y = up(t * 2 ** 30);
    drawing.append(svg('line', {class: 'grid', x1: left, x2: WIDTH - 10, y1: y, y2: y}),
        svg('text', {x: left - 6, y: y + 4, 'text-anchor': 'end'}, `${t} GiB`));
  }
  const below = samples.map(() => 0);
  kinds.forEach((kind, k) => {
    const lower = samples.map((s, i) => `${across(s.at_s ?? 0).toFixed(1)},${up(below[i]).toFixed(1)}`);
    samples.forEach((s, i) => below[i] += s.bytes[k]);
    const upper = samples.map((s, i) => `${across(s.at_s ?? 0).toFixed(1)},${up(below[i]).toFixed(1)}`);
    drawing.append(svg('polygon', {class: `c${k}`, points: [...lower, ...upper.reverse()].join(' ')}));
  });
  if (capacity) {
    const y = up(capacity);
    drawing.append(svg('line', {class: 'axis', x1: left, x2: WIDTH - 10, y1: y, y2: y, 'stroke-dasharray': '6 4'}),
        svg('text', {x: WIDTH - 14, y: y - 5, 'text-anchor': 'end'}, `capacity ${bytes(capacity)}`));
  }
  for (const t of ticks(0, picture.end_s)) {
    drawing.append(svg('text', {x: across(t), y: height - 8, 'text-anchor': 'middle'}, seconds(t)));
  }
  const items = samples.map((sample) => ({x: across(sample.at_s ?? 0) - 1, y: 8, w: 2, h: height - 40, sample}));
  const describe = ({sample}) => `${seconds(sample.at_s ?? 0)}: ${bytes(total(sample))}; ` +
      kinds.map((kind, k) => `${kind} ${bytes(sample.bytes[k])}`).join(', ');
  return section(`Memory of rank ${picture.memory_rank ?? 0} over time`,
      legend(kinds.map((kind, k) => [kind, k])), inspectable(drawing, items, describe, byOrder));
}

// Points {x, y, color, shape, text}; axes {name, log, show}. `extra` draws
// lines, given the two scales.
function scatter(label, points, xAxis, yAxis, extra) {
  const left = 90;
  const height = 420;
  const bottom = 44;
  const range = (values, log) => {
    let lo = Math.min(...values);
    let hi = Math.max(...values);
    if (log) return lo === hi ? [lo / 2, hi * 2] : [lo / 1.2, hi * 1.2];
    const pad = (hi - lo || Math.abs(hi) || 1) * .05;
    return [lo - pad, hi + pad];
  };
  const scale = (axis, [lo, hi], from, to) => (v) => {
    const part = axis.log ? Math.log(v / lo) / Math.log(hi / lo) : (v - lo) / (hi - lo);
    return from + (to - from) * part;
  };
  const marks = (axis, [lo, hi]) => {
    if (!axis.log) return ticks(lo, hi);
    const list = [];
    for (let p = Math.ceil(Math.log10(lo)); p <= Math.log10(hi); ++p) list.push(10 ** p);
    return list.length > 1 ? list : [lo * 1.2, hi / 1.2];
  };
  const xs = range(points.map((p) => p.x), xAxis.log);
  const ys = range(points.map((p) => p.y), yAxis.log);
  const across = scale(xAxis, xs, left, WIDTH - 15);
  const up = scale(yAxis, ys, height - bottom, 12);
  const drawing = frameOf(height, label);
  for (const t of marks(xAxis, xs)) {
    drawing.append(svg('line', {class: 'grid', x1: across(t), x2: across(t), y1: 12, y2: height - bottom}),
        svg('text', {x: across(t), y: height - bottom + 16, 'text-anchor': 'middle'}, xAxis.show(t)));
  }
  for (const t of marks(yAxis, ys)) {
    drawing.append(svg('line', {class: 'grid', x1: left, x2: WIDTH - 15, y1: up(t), y2: up(t)}),
        svg('text', {x: left - 6, y: up(t) + 4, 'text-anchor': 'end'}, yAxis.show(t)));
  }
  drawing.append(
      svg('text', {x: (left + WIDTH) / 2, y: height - 6, 'text-anchor': 'middle'}, xAxis.name),
      svg('text', {transform: `translate(14 ${height / 2}) rotate(-90)`, 'text-anchor': 'middle'}, yAxis.name));
  if (extra) extra(drawing, across, up, xs, ys);
  // From left to right, so that arrow keys walk along.
  const sorted = [...points].sort((a, b) => a.x - b.x || a.y - b.y);
  const items = sorted.map((p) => ({x: across(p.x) - 4, y: up(p.y) - 4, w: 8, h: 8, p}));
  for (const box of [...items].sort((a, b) => (a.p.layer ?? 0) - (b.p.layer ?? 0))) {
    const at = {class: `c${box.p.color}`, 'fill-opacity': box.p.layer ? 1 : .6};
    drawing.append(box.p.shape === 'square' ?
        svg('rect', {...at, x: box.x, y: box.y, width: 8, height: 8}) :
        svg('circle', {...at, cx: box.x + 4, cy: box.y + 4, r: box.p.layer ? 4.5 : 3}));
  }
  return inspectable(drawing, items, ({p}) => p.text, byOrder);
}
