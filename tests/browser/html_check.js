/*
 * html_check.js REPORT...: opens HTML reports in a headless Chromium, as tests/e2e/1210-html-browser.sh does. TAP.
 *
 * No console messages, no requests but the page; no wider than the window at 360 to 1,600 pixels; contrast of text
 * 4.5 and more, light and dark; sorting, searching, zooming and the theme by keyboard; without JavaScript all tables
 * and drawings; printing.
 */
"use strict";

const { open } = require("./browser.js");

let count = 0, failed = 0;

function ok(good, what) {
  count++;
  if (!good) failed++;
  console.log((good ? "ok " : "not ok ") + count + " - " + what);
}

/* Runs in the page: texts with too little contrast to what is behind them. */
function contrasts() {
  function rgb(text) {
    const parts = text.match(/[\d.]+/g).map(Number);
    return { r: parts[0], g: parts[1], b: parts[2], a: parts.length > 3 ? parts[3] : 1 };
  }
  function luminance(c) {
    const [r, g, b] = [c.r, c.g, c.b].map((v) => {
      const s = v / 255;
      return s <= 0.03928 ? s / 12.92 : Math.pow((s + 0.055) / 1.055, 2.4);
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }
  function behind(element) {
    for (let e = element; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.a > 0) return c;
    }
    return { r: 255, g: 255, b: 255, a: 1 };
  }
  const bad = new Set();
  document.querySelectorAll("body *").forEach((element) => {
    const has = Array.from(element.childNodes).some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!has || element.closest("svg, script, style") || element.closest("[aria-hidden]")) return;
    const a = luminance(rgb(getComputedStyle(element).color)), b = luminance(behind(element));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.add(element.tagName + "." + element.className + " " + ratio.toFixed(2));
  });
  return Array.from(bad).slice(0, 5).join(", ");
}

const column = (key) => "Array.from(document.querySelectorAll('#kernels tbody tr')).map(r => { const c = r.cells[" +
  "Array.from(document.querySelectorAll('#kernels thead th')).findIndex(h => h.dataset.k === '" + key + "')]; " +
  "return c.dataset.v === undefined ? null : Number(c.dataset.v); })";
const isFalling = (list) => list.every((v, i) => i === 0 || v === null || (list[i - 1] !== null && list[i - 1] >= v));
const isRising = (list) => isFalling(list.filter((v) => v !== null).reverse()) &&
  list.indexOf(null) < 0 || list.slice(list.indexOf(null)).every((v) => v === null);
const scheme = (value) => [{ name: "prefers-color-scheme", value }];

async function tables(page, name) {
  if (!await page.evaluate("!!document.querySelector('#kernels tbody tr')")) return;
  const head = "document.querySelector('#kernels th[data-k=time_ns] button')";
  await page.evaluate(head + ".focus()");
  await page.key("Enter");
  ok(isFalling(await page.evaluate(column("time_ns"))), name + ": Enter on a head sorts, largest first");
  ok(await page.evaluate("document.querySelector('#kernels th[data-k=time_ns]').getAttribute('aria-sort')") ===
    "descending", name + ": aria-sort says so");
  await page.key("Enter");
  ok(isRising(await page.evaluate(column("time_ns"))), name + ": and again, smallest first");
  await page.evaluate("document.querySelector('#kernels th[data-k=waves] button').click()");
  ok(isFalling(await page.evaluate(column("waves"))), name + ": what is not known goes last");
  const word = await page.evaluate("document.querySelector('#kernels tbody tr th').textContent.trim().slice(0, 6)");
  const want = await page.evaluate("Array.from(document.querySelectorAll('#kernels tbody tr')).filter(r => (r.querySelector('th')" +
    ".title + ' ' + r.textContent).toLowerCase().includes(" + JSON.stringify(word.toLowerCase()) + ")).length");
  await page.evaluate("(e => { e.value = " + JSON.stringify(word) + "; e.dispatchEvent(new Event('input')); })" +
    "(document.querySelector('#kernels-search'))");
  ok(await page.evaluate("document.querySelectorAll('#kernels tbody tr:not(.hidden)').length") === want,
    name + ": a search for \"" + word + "\" shows its " + want);
}

async function timeline(page, name) {
  if (!await page.evaluate("!!document.querySelector('.timeline svg')")) return;
  const state = "document.querySelector('.timeline output').textContent";
  const all = await page.evaluate(state), svg = "document.querySelector('.timeline svg')";
  const buckets = await page.evaluate("JSON.parse(document.getElementById('timeline-data').textContent).buckets");
  await page.evaluate(svg + ".focus(), " + svg + ".scrollIntoView({ block: 'center', behavior: 'instant' })");
  await page.key("+");
  const half = await page.evaluate(state);
  ok(buckets < 2 || half !== all, name + ": + zooms in: " + half);
  await page.key("ArrowRight");
  ok(buckets < 4 || await page.evaluate(state) !== half, name + ": an arrow moves");
  await page.key("0");
  ok(await page.evaluate(state) === all, name + ": 0 shows all again");
  const box = await page.evaluate("(b => [b.left, b.top, b.width, b.height])(" + svg + ".getBoundingClientRect())");
  const x = (share) => box[0] + box[2] * share, y = box[1] + box[3] / 2;
  await page.mouse("mouseMoved", x(0.25), y);
  await page.mouse("mousePressed", x(0.25), y);
  await page.mouse("mouseMoved", x(0.5), y);
  await page.mouse("mouseReleased", x(0.5), y);
  ok(buckets < 4 || await page.evaluate(state) !== all, name + ": dragging zooms: " + await page.evaluate(state));
  /* What it draws of one bucket is what it has of it. */
  for (let i = 0; i < 14; i++) await page.key("+");
  const drawn = await page.evaluate("(() => { const d = JSON.parse(document.getElementById('timeline-data').textContent);" +
    "const names = {}; document.querySelectorAll('.timeline:first-of-type path').forEach(p => { names[p.getAttribute('class')] =" +
    "(p.getAttribute('d').match(/v(-?[\\d.]+)/) || [0, 0])[1] / -200; });" +
    "const sum = Object.keys(names).filter(n => n !== 'sampled').reduce((a, n) => a + names[n], 0); return [sum, d.devices[0].terms.length]; })()");
  ok(drawn[1] === 0 || Math.abs(drawn[0] - 1) < 0.02, name + ": one stretch is drawn whole: " + drawn[0]);
  await page.key("0");
}

async function check(file, options) {
  const name = file.replace(/.*\//, ""), url = "file://" + file;
  const page = await open(options);
  for (const width of [360, 768, 1600]) {
    await page.look(width, 900, scheme("light"));
    await page.go(url);
    const wide = await page.evaluate("document.documentElement.scrollWidth");
    ok(wide <= width, name + ": fits " + width + " pixels (" + wide + ")");
  }
  for (const value of ["light", "dark"]) {
    await page.look(1280, 900, scheme(value));
    await page.go(url);
    const bad = await page.evaluate("(" + contrasts + ")()");
    ok(!bad, name + ": contrast, " + value + (bad ? ": " + bad : ""));
  }
  const back = "getComputedStyle(document.body).backgroundColor", was = await page.evaluate(back);
  await page.evaluate("document.getElementById('theme').focus()");
  await page.key("Enter");
  ok(await page.evaluate(back) !== was, name + ": the button changes light and dark");
  await tables(page, name);
  await timeline(page, name);
  const full = await page.evaluate("document.querySelectorAll('table').length + ' ' + document.querySelectorAll('svg[role]').length");
  await page.evaluate("dispatchEvent(new Event('beforeprint'))");
  ok(await page.evaluate("document.querySelectorAll('details:not([open])').length") === 0, name + ": printing unfolds all");
  await page.evaluate("dispatchEvent(new Event('afterprint'))");
  await page.look(1280, 900, [], "print");
  ok(await page.evaluate("getComputedStyle(document.querySelector('nav')).display") === "none", name + ": no navigation in print");
  await page.look(1280, 900);
  ok(await page.pdf(options.pdf || "/dev/null") > 0, name + ": prints");
  await page.script(false);
  await page.go(url);
  await page.script(true);
  ok(await page.evaluate("document.querySelectorAll('table').length + ' ' + document.querySelectorAll('svg[role]').length") === full,
    name + ": the same tables and drawings without JavaScript (" + full + ")");
  ok(await page.evaluate("getComputedStyle(document.getElementById('theme')).display") === "none", name + ": and no dead buttons");
  ok(page.problems.length === 0, name + ": no console messages " + page.problems.slice(0, 3).join(" "));
  const others = page.requests.filter((each) => each !== url);
  ok(others.length === 0, name + ": asks for nothing else " + others.slice(0, 3).join(" "));
  await page.close();
}

(async () => {
  for (const file of process.argv.slice(2)) await check(file, { chromium: process.env.CHROMIUM || "chromium" });
  console.log("1.." + count);
  process.exit(failed ? 1 : 0);
})().catch((error) => {
  console.log("not ok " + (count + 1) + " - " + error.stack);
  process.exit(1);
});
