// Puts the page together from the JSON that is in it.
'use strict';

(() => {
  const page = JSON.parse(document.getElementById('data').textContent);
  const link = (text, url) => /^https?:/.test(url ?? '') ? el('a', {href: url, rel: 'noreferrer'}, text) : text;
  const sources = (page.sources ?? []).map((s) => [s.part, el('div', {class: 'prose'}, link(s.title, s.url), s.estimate ? ' (estimate)' : '', s.retrieved ? `, read ${s.retrieved}` : ''),
    el('div', {class: 'prose'}, (s.covers ?? '').replaceAll(',', ', ').replaceAll('  ', ' ')), el('div', {class: 'prose'}, s.note ?? '')]);
  const body = [
    page.report ? reportSections(page.report, page.picture) : [],
    page.explanation ? explanationSections(page.explanation) : [],
    !page.report && page.picture ? [pipelinePicture(page.picture), memoryPicture(page.picture)] : [],
    page.accuracy ? accuracySections(page.accuracy) : [],
    page.tuning ? tuningSections(page.tuning) : [],
    page.comparison ? comparisonSections(page.comparison) : [],
    page.sweep ? sweepSections(page.sweep) : [],
  ].flat().filter(has);
  document.getElementById('page').append(
      el('h1', {}, page.title), el('pre', {'aria-label': 'The command that made this page'}, page.command), ...body,
      ...(sources.length ? [section('Where the constants come from', table(null, ['part', 'source', 'covers', 'note'], sources, [0, 1, 2, 3]))] : []),
      el('p', {class: 'soft'}, `Orrery ${page.version}. This page holds its answer as JSON and loads nothing.`));
})();
