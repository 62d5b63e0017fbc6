// Opens a trace through `orrery view` in a Perfetto UI and looks whether slices
// are drawn.
//
//   node smoke.mjs NODE_MODULES ORRERY TRACE
//
// The page and the trace come from different ports, so the browser reads the
// trace only if the server's CORS header allows it.
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import fs from 'node:fs';
import process from 'node:process';

import {CHROMIUM, openBrowser, openTrace, serveUi} from './viewer.mjs';

const SKIPPED = 77;
const [modules, orrery, trace] = process.argv.slice(2);
if (!fs.existsSync(modules) || !fs.existsSync(CHROMIUM)) {
  console.error('smoke: Chromium or the UI is missing; scripts/test fetches both');
  process.exit(SKIPPED);
}
const fail = (why) => {
  console.error(`smoke: ${why}`);
  process.exitCode = 1;
};

/** Starts `orrery view`; resolves to the process and the address it serves. */
async function startView(origin) {
  const view = spawn(orrery, ['view', trace, '--port', '0', '--ui', origin],
                     {stdio: ['ignore', 'pipe', 'ignore']});
  const [line] = await once(view.stdout, 'data');
  const link = new URL(String(line).trim().replace('#!/', ''));
  if (link.origin !== origin) fail(`the link goes to ${link.origin}`);
  JSON.parse(link.searchParams.get('startupCommands'));
  return {view, address: link.searchParams.get('url')};
}

/**
 * Colours of the timeline's pixels and how many pixels have each, without greys
 * (background, grid, text).
 */
async function coloursDrawn(page) {
  return page.evaluate(() => {
    const counts = {};
    for (const canvas of document.querySelectorAll('canvas')) {
      const {width, height} = canvas;
      if (width === 0 || height === 0) continue;
      const pixels =
          canvas.getContext('2d').getImageData(0, 0, width, height).data;
      for (let i = 0; i < pixels.length; i += 4) {
        const [r, g, b] = [pixels[i], pixels[i + 1], pixels[i + 2]];
        if (Math.max(r, g, b) - Math.min(r, g, b) < 40) continue;
        const colour = `${r},${g},${b}`;
        counts[colour] = (counts[colour] ?? 0) + 1;
      }
    }
    return counts;
  });
}

const ui = await serveUi(modules);
const {view, address} = await startView(ui.origin);
const browser = await openBrowser(modules, {width: 1400, height: 900});
try {
  const page = await openTrace(browser, ui, address);
  // Tracks are fetched and drawn one after the other; give them time, no more.
  let large = [];
  for (let tries = 0; tries < 60 && large.length < 4; ++tries) {
    await page.waitForTimeout(250);
    large = Object.entries(await coloursDrawn(page))
                .filter(([, pixels]) => pixels > 100);
  }
  // Slices are coloured by name; a step has more than three names.
  if (large.length < 4) fail(`only ${large.length} colours are drawn`);
  for (const problem of page.problems) fail(`the UI reports ${problem}`);
  if (process.env.SCREENSHOT) {
    await page.screenshot({path: process.env.SCREENSHOT});
  }
} catch (error) {
  fail(error.stack);
} finally {
  await browser.close();
  ui.close();
  view.kill('SIGINT');
  const [code] = await once(view, 'exit');
  if (code !== 0) fail(`orrery view ended with exit code ${code}`);
}
