// Takes a picture of a trace, for the documentation.
//
//   node picture.mjs NODE_MODULES ORRERY TRACE OUT.png [FROM_NS TO_NS [HEIGHT]]
//
// The viewer has no names of tracks; they are written over its margin.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import process from 'node:process';

import {openBrowser, openTrace, serveUi} from './viewer.mjs';

const [modules, orrery, trace, out, from, to, height] = process.argv.slice(2);
const ui = await serveUi(modules);
const view = spawn(orrery, ['view', trace, '--port', '0', '--ui', ui.origin],
                   {stdio: ['ignore', 'pipe', 'ignore']});
const [line] = await once(view.stdout, 'data');
const link = new URL(String(line).trim().replace('#!/', ''));
const browser = await openBrowser(
    modules, {width: 1280, height: Number(height ?? 700)});
const page = await openTrace(browser, ui, link.searchParams.get('url'));
if (to) {
  await page.evaluate(([begin, end]) => {
    const local = window.globals.frontendLocalState;
    const Span = local.visibleWindowTime.constructor;
    local.updateVisibleTime(new Span(begin, end));
  }, [Number(from) / 1e9, Number(to) / 1e9]);
}
await page.waitForTimeout(6000);
await page.evaluate(() => {
  const {tracks} = window.globals.state;
  for (const element of document.querySelectorAll('[id^="track_"]')) {
    const name = tracks[element.id.slice('track_'.length)]?.name;
    if (!name) continue;
    const {top, height} = element.getBoundingClientRect();
    const label = document.createElement('div');
    label.textContent = name;
    label.style.cssText = `position: fixed; z-index: 9; left: 12px;
      top: ${top}px; width: 232px; line-height: ${Math.min(height, 24)}px;
      font: 12px sans-serif; overflow: hidden; white-space: nowrap`;
    document.body.append(label);
  }
});
// Without the search box above.
const {width, height: tall} = page.viewportSize();
await page.screenshot(
    {path: out, clip: {x: 0, y: 54, width, height: tall - 54}});
await browser.close();
ui.close();
view.kill('SIGINT');
