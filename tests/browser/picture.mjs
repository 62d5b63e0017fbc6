// Takes a picture of a trace, for the documentation.
//
//   node picture.mjs NODE_MODULES ORRERY TRACE OUT.png [--window FROM_MS:TO_MS]
//                    [--tracks REGEX] [--height PIXELS]
//
// --tracks chooses by path, such as "rank 0 .*/(compute|waiting for)". The viewer
// knows neither the tree of tracks nor their names: the tracks are put into the
// order of the tree, each by itself, and the names are written over its margin,
// indented as a current UI does it.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import path from 'node:path';
import process from 'node:process';
import {parseArgs} from 'node:util';

import {TraceProcessor} from '../traces/trace_processor.mjs';
import {openBrowser, openTrace, serveUi} from './viewer.mjs';

const {values: flags, positionals} = parseArgs({
  allowPositionals: true,
  options: {
    window: {type: 'string'},
    tracks: {type: 'string', default: '.'},
    height: {type: 'string', default: '700'},
  },
});
const [modules, orrery, trace, out] =
    positionals.map((file) => path.resolve(file));
// What a track's uuid is called, now and in the viewer.
const UUID = 'extract_arg(source_arg_set_id, \'trace_id\')';
const OLD_UUID = 'extract_arg(source_arg_set_id, \'source_id\')';

/**
 * The rows of the tree that are chosen, from top to bottom, with the groups they
 * stand in: their name, depth, and the uuids of their lanes (none for a group).
 */
function rowsOf(file, wanted) {
  const processor = new TraceProcessor(
      path.join(modules, '../../perfetto/trace_processor.wasm'));
  processor.load(file);
  const tracks = processor.query(
      `select t.id, t.parent_id, t.name, ${UUID}, ` +
      'coalesce(extract_arg(source_arg_set_id, \'sibling_order_rank\'), 0), ' +
      't.type glob \'*counter*\', ' +
      '(select coalesce(max(depth), 0) from slice s where s.track_id = t.id), ' +
      'exists (select 1 from slice s where s.track_id = t.id) or ' +
      'exists (select 1 from counter c where c.track_id = t.id) from track t');
  const byParent = new Map();
  for (const [id, parent, name, uuid, order, counter, depth, full] of tracks) {
    const key = String(parent);
    if (!byParent.has(key)) byParent.set(key, []);
    byParent.get(key).push({id, name, uuid: String(uuid), order: Number(order),
                            counter: Number(counter) === 1,
                            depth: Number(depth), full: Number(full) === 1});
  }
  const walk = (parent, above, level) => {
    const rows = [];
    const merged = new Map();  // lanes of one name and place
    const siblings = (byParent.get(parent) ?? [])
        .sort((a, b) => a.order - b.order || Number(a.id) - Number(b.id));
    for (const track of siblings) {
      const key = `${track.order} ${track.name}`;
      if (merged.has(key) && !track.counter) {
        const row = merged.get(key);
        row.uuids.push(track.uuid);
        row.rows += track.depth + 1;
        continue;
      }
      const where = `${above}/${track.name}`;
      const below = walk(String(track.id), where, level + 1);
      const shown = track.full && new RegExp(wanted).test(where);
      if (!shown && below.length === 0) continue;
      const row = {name: track.name, level, counter: track.counter,
                   rows: track.depth + 1,
                   uuids: shown ? [track.uuid] : []};
      merged.set(key, row);
      rows.push(row, ...below);
    }
    return rows;
  };
  return walk('null', '', 0);
}

/** Asks the viewer's own trace processor. */
async function ask(page, query) {
  return page.evaluate(async (sql) => {
    const queryId = `q${Math.random()}`;
    window.globals.dispatch(
        window.Actions.executeQuery({engineId: '0', queryId, query: sql}));
    for (let i = 0; i < 600; ++i) {
      const answer = window.globals.queryResults.get(queryId);
      if (answer) return answer.error ? {error: answer.error} : answer.rows;
      await new Promise((later) => setTimeout(later, 100));
    }
    return {error: 'no answer'};
  }, query);
}

/** Puts `rows` in the place of the tracks the viewer chose. */
async function arrange(page, rows) {
  const known = await ask(page, `select id, ${OLD_UUID} as uuid from track`);
  if (known.error) throw new Error(known.error);
  const ids = new Map(known.map(({id, uuid}) => [String(uuid), Number(id)]));
  const tracks = rows.map((row, i) => {
    const trackIds = row.uuids.map((uuid) => ids.get(uuid))
        .filter((id) => id !== undefined);
    return {
      id: `row${i}`, engineId: '0', trackKindPriority: 3,
      trackGroup: 'ScrollingTracks', name: row.name,
      kind: row.counter ? 'CounterTrack' : 'AsyncSliceTrack',
      config: row.counter ?
          {name: row.name, trackId: trackIds[0]} :
          {maxDepth: row.rows - 1, trackIds},
    };
  });
  await page.evaluate((added) => {
    const {globals, Actions} = window;
    const state = JSON.parse(JSON.stringify(globals.state));
    // The viewer's own stay known to it, but are drawn no more.
    for (const track of added) state.tracks[track.id] = track;
    state.scrollingTracks = added.map((track) => track.id);
    globals.dispatch(Actions.setState({newState: state}));
  }, tracks);
}

/** Waits until what is in view has been loaded, and is drawn. */
async function drawn(page, count) {
  await page.waitForFunction((rowCount) => {
    const {globals} = window;
    for (let i = 0; i < rowCount; ++i) {
      const element = document.getElementById(`track_row${i}`);
      if (!element) continue;
      if (element.getBoundingClientRect().top > window.innerHeight) break;
      if (!globals.trackDataStore.has(`row${i}`)) return false;
    }
    // Quiet for a while: a window that moved is loaded anew.
    window.quiet = globals.numQueuedQueries === 0 ? (window.quiet ?? 0) + 1 : 0;
    return window.quiet > 8;
  }, count, {polling: 250, timeout: 180_000});
}

const rows = rowsOf(trace, flags.tracks);
const ui = await serveUi(modules);
const view = spawn(orrery, ['view', trace, '--port', '0', '--ui', ui.origin],
                   {stdio: ['ignore', 'pipe', 'ignore']});
const [line] = await once(view.stdout, 'data');
const link = new URL(String(line).trim().replace('#!/', ''));
const browser = await openBrowser(
    modules, {width: 1280, height: Number(flags.height)});
try {
  const page = await openTrace(browser, ui, link.searchParams.get('url'));
  await arrange(page, rows);
  if (flags.window) {
    await page.evaluate(([begin, end]) => {
      const local = window.globals.frontendLocalState;
      const Span = local.visibleWindowTime.constructor;
      local.updateVisibleTime(new Span(begin, end));
    }, flags.window.split(':').map((ms) => Number(ms) / 1e3));
  }
  await drawn(page, rows.length);
  await page.evaluate((names) => {
    names.forEach(({name, level, group}, i) => {
      const element = document.getElementById(`track_row${i}`);
      if (!element) return;
      const {top, height} = element.getBoundingClientRect();
      const label = document.createElement('div');
      label.style.cssText = `position: fixed; z-index: 9; left: 0;
        padding: 4px 0 0 ${6 + 10 * level}px; box-sizing: border-box;
        top: ${top}px; width: 247px; height: ${height}px; background: white;
        font: ${group ? 'bold ' : ''}12px sans-serif; overflow: hidden;
        white-space: nowrap`;
      document.body.append(label);
      // What is too long is written smaller, then loses its middle: the end tells
      // like ones apart.
      label.textContent = name;
      for (let size = 11; label.scrollWidth > 247 && size >= 10; --size) {
        label.style.fontSize = `${size}px`;
      }
      for (let cut = 1; label.scrollWidth > 247 && cut < name.length; ++cut) {
        const keep = name.length - cut;
        label.textContent = name.slice(0, Math.ceil(keep / 2)) + '\u2026' +
            name.slice(name.length - Math.floor(keep / 2));
      }
    });
  }, rows.map(({name, level, uuids}) =>
          ({name, level, group: uuids.length === 0})));
  // Without the search box above.
  const {width, height} = page.viewportSize();
  await page.screenshot(
      {path: out, clip: {x: 0, y: 54, width, height: height - 54}});
} finally {
  await browser.close();
  ui.close();
  view.kill('SIGINT');
}
