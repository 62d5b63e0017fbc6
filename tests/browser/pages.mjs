// Opens pages that `orrery --html` wrote in headless Chromium, at two widths and
// in both colour schemes: no errors, no sideways scrolling, nothing loaded, and
// pictures that answer to the keyboard.
//
//   node pages.mjs NODE_MODULES ORRERY FOLDER
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import {pathToFileURL} from 'node:url';

import {CHROMIUM, openBrowser} from './viewer.mjs';

const SKIPPED = 77;
const [modules, orrery, folder] = process.argv.slice(2);
if (!fs.existsSync(modules) || !fs.existsSync(CHROMIUM)) {
  console.error('pages: Chromium or its driver is missing; scripts/test fetches both');
  process.exit(SKIPPED);
}
const fail = (why) => {
  console.error(`pages: ${why}`);
  process.exitCode = 1;
};

// The command of each page, and how many pictures take the keyboard.
const PAGES = {
  simulate: [['simulate', 'quickstart'], 2],
  inference: [['simulate', 'llama3_70b_fp8_serving'], 0],
  explain: [['explain', 'quickstart', '--no-sensitivities'], 2],
  check: [['check', 'quickstart'], 0],
  cost: [['cost', 'quickstart'], 0],
  tune: [['tune', 'quickstart', '--simulate', '2'], 0],
  compare: [['compare', 'megatron_175b_full', 'megatron_175b_selective'], 0],
  sweep: [['sweep', 'tensor_or_pipeline'], 1],
  validate: [['validate', 'kernels'], 1],
};

async function look(browser, name, pictures, width, colorScheme) {
  const page = await browser.newPage({viewport: {width, height: 900}, colorScheme});
  const where = `${name} at ${width}`;
  page.on('console', (message) => fail(`${where}: ${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => fail(`${where}: ${error.stack}`));
  page.on('request', (request) => {
    if (!request.url().startsWith('file:')) fail(`${where} asks for ${request.url()}`);
  });
  await page.goto(pathToFileURL(path.join(folder, `${name}.html`)).href);
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (wider > 0) fail(`${where}: ${wider} pixels too wide`);
  const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = Number(background.match(/\d+/)[0]) < 128;
  if (dark !== (colorScheme === 'dark')) fail(`${where}: the ground is ${background} in ${colorScheme}`);
  if (await page.locator('table').count() === 0) fail(`${where}: there is no table`);
  const charts = page.locator('svg[tabindex]');
  if (await charts.count() !== pictures) fail(`${where}: ${await charts.count()} pictures instead of ${pictures}`);
  for (let i = 0; i < await charts.count(); ++i) {
    await charts.nth(i).focus();
    const detail = page.locator('.detail').nth(i);
    const first = await detail.textContent();
    await page.keyboard.press('ArrowRight');
    const second = await detail.textContent();
    if (first === second || /^Hover/.test(second)) fail(`${where}: arrow keys do not move on picture ${i}`);
    const box = await charts.nth(i).boundingBox();
    await page.mouse.move(box.x + Math.min(box.width, width - 40) / 2, box.y + box.height / 2);
  }
  if (process.env.SCREENSHOTS) {
    await page.screenshot({path: path.join(process.env.SCREENSHOTS, `${name}-${width}.png`), fullPage: true});
  }
  await page.close();
}

fs.mkdirSync(folder, {recursive: true});
for (const [name, [command]] of Object.entries(PAGES)) {
  const ran = spawnSync(orrery, [...command, '--html', path.join(folder, `${name}.html`)], {stdio: ['ignore', 'ignore', 'inherit']});
  // A missed bar of a validation is an answer.
  if (ran.status !== 0 && !(ran.status === 1 && command[0] === 'validate')) fail(`${name}: exit ${ran.status}`);
}
const browser = await openBrowser(modules, {width: 1200, height: 900});
try {
  for (const [name, [, pictures]] of Object.entries(PAGES)) {
    await look(browser, name, pictures, 1200, 'light');
    await look(browser, name, pictures, 420, 'dark');
  }
} catch (error) {
  fail(error.stack);
} finally {
  await browser.close();
}
