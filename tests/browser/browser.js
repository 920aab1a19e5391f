/*
 * browser.js - drives a headless Chromium over its debugging pipe, for tests and pictures of HTML reports.
 * No library: Node alone.
 *
 *	const page = await open({ chromium: "chromium", width: 1280, height: 800 });
 *	await page.go("file:///...");  await page.evaluate("1 + 1");  await page.picture("x.png");  await page.close();
 */
"use strict";

const { spawn } = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");

async function open(options) {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "wt-browser-"));
  const child = spawn(options.chromium || "chromium",
    ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
      "--no-first-run", "--disable-extensions", "--disable-background-networking", "--user-data-dir=" + profile,
      "about:blank"],
    { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const waiting = new Map(), events = [], page = { problems: [], requests: [] };
  let next = 1, text = "", session;

  child.stdio[4].setEncoding("utf8");
  child.stdio[4].on("data", (piece) => {
    const parts = (text + piece).split("\0");
    text = parts.pop();
    parts.forEach((part) => take(JSON.parse(part)));
  });
  child.on("exit", () => waiting.forEach((entry) => entry.reject(new Error("the browser ended"))));

  function take(message) {
    const entry = waiting.get(message.id);
    if (entry) {
      waiting.delete(message.id);
      if (message.error) entry.reject(new Error(message.error.message));
      else entry.resolve(message.result);
      return;
    }
    const p = message.params;
    if (message.method === "Runtime.exceptionThrown") page.problems.push(JSON.stringify(p.exceptionDetails));
    if (message.method === "Runtime.consoleAPICalled") page.problems.push("console: " + JSON.stringify(p.args));
    if (message.method === "Log.entryAdded") page.problems.push(p.entry.source + ": " + p.entry.text);
    if (message.method === "Network.requestWillBeSent") page.requests.push(p.request.url);
    events.filter((each) => each.method === message.method).forEach((each) => each.resolve());
  }

  function send(method, params) {
    return new Promise((resolve, reject) => {
      const id = next++;
      waiting.set(id, { resolve, reject });
      child.stdio[3].write(JSON.stringify({ id, method, params: params || {}, sessionId: session }) + "\0");
    });
  }

  function once(method) {
    return new Promise((resolve) => {
      const entry = { method, resolve: () => { events.splice(events.indexOf(entry), 1); resolve(); } };
      events.push(entry);
    });
  }

  const target = await send("Target.createTarget", { url: "about:blank" });
  session = (await send("Target.attachToTarget", { targetId: target.targetId, flatten: true })).sessionId;
  for (const domain of ["Page", "Runtime", "Log", "Network"]) await send(domain + ".enable");

  /* `features` as [{name: "prefers-color-scheme", value: "dark"}]; media "print" or "". */
  page.look = async (width, height, features, media) => {
    await send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 500 });
    await send("Emulation.setEmulatedMedia", { media: media || "", features: features || [] });
  };
  page.script = (isOn) => send("Emulation.setScriptExecutionDisabled", { value: !isOn });
  page.go = async (url) => {
    const loaded = once("Page.loadEventFired");
    await send("Page.navigate", { url });
    await loaded;
  };
  page.evaluate = async (expression) => {
    const result = await send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (result.exceptionDetails) throw new Error(JSON.stringify(result.exceptionDetails));
    return result.result.value;
  };
  page.key = async (key) => {
    for (const type of ["keyDown", "keyUp"])
      await send("Input.dispatchKeyEvent", { type, key, code: key, text: key === "Enter" ? "\r" : key.length === 1 ? key : undefined,
        windowsVirtualKeyCode: { Enter: 13, Tab: 9, ArrowLeft: 37, ArrowRight: 39 }[key] || key.charCodeAt(0) });
  };
  page.mouse = (type, x, y) => send("Input.dispatchMouseEvent", { type, x, y, button: type === "mouseMoved" ? "none" : "left",
    buttons: type === "mouseReleased" ? 0 : 1, clickCount: 1 });
  /* Of the viewport, or of `clip` {x, y, width, height} of the page. */
  page.picture = async (file, clip) => {
    const shot = await send("Page.captureScreenshot", clip
      ? { format: "png", clip: Object.assign({ scale: 1 }, clip), captureBeyondViewport: true } : { format: "png" });
    fs.writeFileSync(file, Buffer.from(shot.data, "base64"));
  };
  page.pdf = async (file) => {
    const pdf = await send("Page.printToPDF", { printBackground: false, paperWidth: 8.27, paperHeight: 11.69 });
    fs.writeFileSync(file, Buffer.from(pdf.data, "base64"));
    return (Buffer.from(pdf.data, "base64").toString("latin1").match(/\/Type\s*\/Page\b/g) || []).length;
  };
  /* Its children end a little after it. */
  page.close = async () => {
    const ended = new Promise((resolve) => child.on("exit", resolve));
    child.kill("SIGKILL");
    await ended;
    for (let i = 0; i < 100; i++) {
      try {
        fs.rmSync(profile, { recursive: true, force: true });
        return;
      } catch (error) {
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  };
  await page.look(options.width || 1280, options.height || 800);
  return page;
}

module.exports = { open };
