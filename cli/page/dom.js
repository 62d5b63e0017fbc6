// Elements, numbers as people read them, tables. Text is always put in as text.
'use strict';

const SVG = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== undefined && value !== null) node.setAttribute(name, value);
  }
  for (const child of children.flat()) {
    if (child === undefined || child === null) continue;
    node.append(child.nodeType ? child : document.createTextNode(String(child)));
  }
  return node;
}
const el = (tag, attributes, ...children) =>
    fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) =>
    fill(document.createElementNS(SVG, tag), attributes, children);

// Four digits with a prefix: 1.508 s, 77.24 GiB.
function scaled(value, units) {
  for (const [size, name] of units) {
    if (Math.abs(value) >= size) return `${Number((value / size).toPrecision(4))} ${name}`;
  }
  const [size, name] = units[units.length - 1];
  return `${Number((value / size).toPrecision(4))} ${name}`;
}
const seconds = (s) => s === 0 ? '0 s' : scaled(s, [[86400, 'd'], [1, 's'], [1e-3, 'ms'], [1e-6, 'us'], [1e-9, 'ns']]);
const bytes = (b) => scaled(b, [[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']]);
const count = (n) => Number.isInteger(n) && Math.abs(n) < 1e5 ?
    String(n) : scaled(n, [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']]).trim();
const dollars = (d) => `${scaled(d, [[1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']])}USD`.replace(/ (\w?)USD/, ' $1USD');
const percent = (p, digits = 1) => `${(100 * p).toFixed(digits)} %`;
const signed = (text, value) => `${value < 0 ? '-' : '+'}${text}`;

// A number by what the schema calls it.
function quantity(field, value) {
  if (value === undefined || value === null) return '-';
  if (typeof value !== 'number') return String(value);
  if (/_s$/.test(field) && !/_per_s$/.test(field)) return seconds(value);
  if (/_bytes$/.test(field)) return bytes(value);
  if (/dollars|^cost\./.test(field) && !/run_days$/.test(field)) return dollars(value);
  if (/fits$/.test(field)) return value ? 'yes' : 'NO';
  if (/^(mfu|hfu|mfu_causal)$/i.test(field)) return percent(value);
  return count(value);
}
// "breakdown.tensor_exposed_s" is "tensor exposed".
function words(field) {
  return field.replace(/^[^.[]*\./, '').replace(/(?<!_per)_s$/, '')
      .replace(/_bytes$/, '').replaceAll('_', ' ');
}

// Cells are text or elements; `text` lists the columns that are no numbers.
function table(caption, head, rows, text = [0]) {
  const kind = (i) => text.includes(i) ? {class: 'text'} : {};
  return el('div', {class: 'scroll'}, el('table', {},
      caption ? el('caption', {}, caption) : null,
      el('thead', {}, el('tr', {}, head.map(
          (title, i) => el('th', {scope: 'col', ...kind(i)}, title)))),
      el('tbody', {}, rows.map((row) => el('tr', {},
          row.map((cell, i) => i === 0 && text.includes(0) ?
              el('th', {scope: 'row', class: 'text'}, cell) :
              el('td', kind(i), cell)))))));
}
const bar = (share, color) => el('span', {
  class: `bar c${color}`, 'aria-hidden': 'true',
  style: `width:${(Math.max(0, Math.min(1, share)) * 11).toFixed(2)}rem`});
const legend = (entries) => el('ul', {class: 'legend'}, entries.map(
    ([name, color]) => el('li', {},
        el('span', {class: `swatch c${color}`, 'aria-hidden': 'true'}), name)));
function section(title, ...children) {
  return el('section', {}, el('h2', {}, title), ...children);
}
