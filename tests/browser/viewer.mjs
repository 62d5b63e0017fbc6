// A Perfetto UI in headless Chromium, for tests and pictures.
//
// The UI is the cut-down timeline viewer that npm has (Perfetto v20.1): it draws
// slices and counters, but knows neither the tree of tracks nor their names. It
// reads the trace's address from one element of its page and draws into another.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import {createRequire} from 'node:module';

const TYPES = {'.js': 'text/javascript', '.css': 'text/css',
               '.wasm': 'application/wasm'};
export const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const LOOPBACK = '127.0.0.1';

/** Serves the UI's files and a page that hosts it; resolves to the server. */
export async function serveUi(modules) {
  const root = path.join(modules, '@pinpoint-apm', 'perfetto-ui');
  const server = http.createServer((request, response) => {
    const url = new URL(request.url, `http://${LOOPBACK}`);
    if (url.pathname === '/') {
      response.setHeader('Content-Type', 'text/html; charset=utf-8');
      response.end(`<!doctype html><title>Perfetto</title>
        <body style="--track-shell-width: 240px">
        <div id="timeline_data_source" hidden>${url.searchParams.get('trace')}</div>
        <main id="timeline_main"></main>
        <script src="frontend_bundle.js"></script>`);
      return;
    }
    const file = path.join(root, path.normalize(url.pathname));
    fs.readFile(file, (error, bytes) => {
      response.writeHead(error ? 404 : 200, {
        'Content-Type': TYPES[path.extname(file)] ?? 'application/octet-stream',
      });
      response.end(bytes);
    });
  });
  await new Promise((ready) => server.listen(0, LOOPBACK, ready));
  server.origin = `http://${LOOPBACK}:${server.address().port}`;
  return server;
}

/** Starts Chromium; nothing but loopback can be reached from its pages. */
export async function openBrowser(modules, size) {
  const require = createRequire(path.join(modules, 'anything.js'));
  const {chromium} = require('playwright-core');
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    // Chromium's sandbox does not work for root, which tests may be.
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
  browser.context = await browser.newContext({viewport: size});
  await browser.context.route(
      (url) => url.hostname !== LOOPBACK && url.protocol.startsWith('http'),
      (route) => route.abort());
  return browser;
}

/** Opens the trace at `address` and waits until the UI has its tracks. */
export async function openTrace(browser, ui, address) {
  const page = await browser.context.newPage();
  page.problems = [];
  page.on('pageerror', (error) => page.problems.push(String(error)));
  await page.goto(`${ui.origin}/?trace=${encodeURIComponent(address)}`);
  await page.waitForFunction(() => {
    const state = window.globals?.state;
    return state && Object.keys(state.tracks).length > 0 &&
        Object.values(state.engines).every((engine) => engine.ready);
  }, null, {timeout: 60_000});
  // All groups of tracks unfolded.
  await page.evaluate(() => {
    const {globals, Actions} = window;
    for (const [id, group] of Object.entries(globals.state.trackGroups)) {
      if (!group.collapsed) continue;
      globals.dispatch(Actions.toggleTrackGroupCollapsed({trackGroupId: id}));
    }
  });
  return page;
}
