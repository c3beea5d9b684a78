// Opens a page in headless Chromium and checks it: check.mjs PAGE FOLDER
//
// Runs in the folder with node_modules. Chromium is that of the package @sparticuz/chromium, with its
// own libraries, so that nothing of the system is needed. Screenshots and a PDF go to FOLDER.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import zlib from "node:zlib";

// The packages are in the working folder, not beside this file.
const puppeteer = createRequire(path.resolve("check.mjs"))("puppeteer-core");
const [page, folder] = process.argv.slice(2).map((name) => path.resolve(name));

function unpack(name, target) {
  const packed = path.join("node_modules/@sparticuz/chromium/bin", `${name}.br`);
  fs.writeFileSync(target, zlib.brotliDecompressSync(fs.readFileSync(packed)));
}

// Returns the path of Chromium, which the first call unpacks.
function chromium() {
  const home = path.resolve("browser");
  if (!fs.existsSync(path.join(home, "done"))) {
    fs.mkdirSync(home, { recursive: true });
    unpack("chromium", path.join(home, "chromium"));
    fs.chmodSync(path.join(home, "chromium"), 0o755);
    for (const name of ["al2023.tar", "fonts.tar"]) {
      unpack(name, path.join(home, name));
      execFileSync("tar", ["xf", path.join(home, name), "-C", home]);
    }
    fs.writeFileSync(path.join(home, "done"), "");
  }
  // The configuration in the package names folders outside of it; without a font Chromium crashes.
  const fonts = path.join(home, "fonts");
  fs.writeFileSync(
    path.join(home, "fonts.conf"),
    `<?xml version="1.0"?>
<fontconfig><dir>${fonts}</dir><cachedir>${fonts}-cache</cachedir></fontconfig>
`,
  );
  return home;
}

const wrong = [];
const expect = (what, holds) => {
  if (!holds) wrong.push(what);
};

const home = chromium();
const browser = await puppeteer.launch({
  executablePath: path.join(home, "chromium"),
  headless: "shell",
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--single-process", "--no-zygote"],
  env: { ...process.env, LD_LIBRARY_PATH: path.join(home, "lib"), FONTCONFIG_PATH: home },
});
const tab = await browser.newPage();
let view = "";
tab.on("console", (message) => wrong.push(`${view}: console: ${message.text()}`));
tab.on("pageerror", (error) => wrong.push(`${view}: ${error}`));
tab.on("request", (request) => {
  if (!request.url().startsWith("file:")) wrong.push(`${view}: loads ${request.url()}`);
});
await tab.evaluateOnNewDocument(() => {
  window.violations = [];
  document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
});

for (const scheme of ["light", "dark"]) {
  for (const width of [390, 1280]) {
    view = `${scheme}-${width}`;
    await tab.setViewport({ width, height: 900 });
    await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await tab.goto(pathToFileURL(page).href);
    const found = await tab.evaluate(() => ({
      overflow: document.documentElement.scrollWidth - window.innerWidth,
      dark: getComputedStyle(document.body).backgroundColor,
      problems: document.querySelectorAll("#problems article").length,
      rows: document.querySelectorAll("#list tr[data-place]").length,
      violations: window.violations,
    }));
    expect(`${view}: the page is ${found.overflow} px too wide`, found.overflow <= 0);
    expect(`${view}: background ${found.dark}`, (found.dark === "rgb(255, 255, 255)") === (scheme === "light"));
    expect(`${view}: no problem is shown`, found.problems > 0);
    expect(`${view}: no row is shown`, found.rows > 0);
    expect(`${view}: violations ${found.violations}`, found.violations.length === 0);
    await tab.screenshot({ path: path.join(folder, `${view}.png`), fullPage: true });
  }
}

// On a phone: graphs fit, problems are beside their node, the menu shows that it goes on, notes are whole.
view = "phone";
await tab.setViewport({ width: 360, height: 800 });
await tab.goto(pathToFileURL(page).href);
const phone = await tab.evaluate(() => {
  const right = (name) => Math.max(0, ...[...document.querySelectorAll(name)].map((of) => of.getBoundingClientRect().right));
  const notes = [...document.querySelectorAll(".ladder .note")];
  return {
    overflow: document.documentElement.scrollWidth - window.innerWidth,
    graph: right(".graph svg"),
    problems: right(".matrix tbody td:nth-child(2) a:first-child"),
    menu: getComputedStyle(document.querySelector("nav ul"), "::after").content,
    first: [...document.querySelectorAll("#list thead th")].slice(0, 3).map((title) => title.textContent.trim()).join(),
    kind: document.querySelector("#list td.long").getBoundingClientRect().left,
    cut: notes.filter((note) => note.scrollHeight > note.clientHeight + 1).length,
  };
});
expect(`phone: ${JSON.stringify(phone)}`, phone.overflow <= 0 && phone.graph <= 360 && phone.problems <= 360
  && phone.menu.includes("\u203a") && phone.cut === 0 && phone.first === "KIND,TYPE,NOTE" && phone.kind < 240);
await tab.screenshot({ path: path.join(folder, "phone.png"), fullPage: true });
await tab.setViewport({ width: 1280, height: 900 });
await tab.goto(pathToFileURL(page).href);

// On a laptop the matrix fits, and the arrow of a label with several lines is below it.
view = "laptop";
const laptop = await tab.evaluate(() => {
  const matrix = document.querySelector("#matrix .scroll");
  const arrow = document.querySelector(".ladder li:not(.life) .arrow");
  arrow.textContent = "words ".repeat(60);
  const label = document.createRange();
  label.selectNodeContents(arrow);
  const line = arrow.getBoundingClientRect().bottom - Number.parseFloat(getComputedStyle(arrow, "::after").bottom);
  return { hidden: matrix.scrollWidth - matrix.clientWidth, label: line - label.getBoundingClientRect().bottom };
});
expect(`laptop: ${JSON.stringify(laptop)}`, laptop.hidden <= 0 && laptop.label >= 0);
await tab.goto(pathToFileURL(page).href);

// By keyboard: filter, choose a row, open it. The filter stays, and the pair is beside the message.
view = "keyboard";
await tab.keyboard.press("/");
await tab.keyboard.type("kind:nack");
const rows = () => tab.$$eval("#list tr[data-place]", (lines) => lines.map((line) => line.textContent));
const filtered = await rows();
expect(`${filtered.length} rows match`, filtered.length > 0 && filtered.every((text) => text.includes("NACK")));
await tab.keyboard.press("Enter");
const selected = () => tab.$eval('#list tr[aria-selected="true"]', (line) => line.firstChild.textContent);
const first = await selected();
const isOpen = () => tab.$eval("#detail", (detail) => !detail.hidden);
expect("a row opens before Enter", !(await isOpen()));
await tab.keyboard.press("Enter");
const opened = () => tab.$$eval("#detail article", (parts) => parts.map((part) => ({
  title: part.querySelector("h3").textContent,
  names: [...part.querySelectorAll(".names li")].map((name) => name.textContent),
  body: part.querySelector(".body")?.textContent || "",
  error: part.querySelector("blockquote")?.textContent || "",
  rules: [...part.querySelectorAll('a[href^="#rule-"]')].map((rule) => rule.textContent),
  button: part.querySelector("button")?.textContent || "",
})));
const [nack, push] = await opened();
expect(`Enter on #${first} opens ${nack?.title}`, nack?.title.startsWith(`#${first} `) && (await selected()) === first);
expect(`the pair is ${push?.title}`, push?.title.includes("push") || push?.title.includes("resend"));
expect("Enter loses the filter", (await tab.$eval("#q", (input) => input.value)) === "kind:nack");
expect(`the NACK has ${JSON.stringify(nack)}`, nack?.error && nack.rules.length > 0 && nack.body.includes("error_detail"));
expect(`the push has ${JSON.stringify(push)}`, push?.names.length > 0 && push.body.includes("version_info"));
expect("the list has no focus", await tab.evaluate(() => document.activeElement.id === "grid"));
await tab.keyboard.press("ArrowDown");
expect("the open message does not follow the arrows", (await rows()).length < 2 || !(await opened())[0].title.startsWith(`#${first} `));
await tab.keyboard.press("ArrowUp");
await tab.screenshot({ path: path.join(folder, "opened.png") });

// A link to a message that the filter hides opens it beside the list; a button clears the filter.
const number = /#(\d+)/.exec(push?.title)?.[1];
await tab.evaluate((hash) => (location.hash = hash), `#m${number}`);
await tab.waitForFunction((title) => document.querySelector("#detail h3").textContent === title, { timeout: 5000 }, push?.title);
expect("a link loses the filter", (await tab.$eval("#q", (input) => input.value)) === "kind:nack");
const [hidden] = await opened();
expect(`the button says ${hidden.button}`, hidden.button === "Show in the timeline without the filter");
await tab.$eval("#detail article button", (button) => button.click());
expect("the button keeps the filter", (await tab.$eval("#q", (input) => input.value)) === "");
expect("the button does not choose the message", (await selected()) === number);
await tab.keyboard.press("Escape");
expect("Esc does not close the message", !(await isOpen()));
const click = () => tab.evaluate(() => document.querySelector("#list tr[data-place]").click());
await click();
expect("a click does not open a row", await isOpen());
await tab.keyboard.press("Escape");

// Columns sort: by a click and by keys, up, down, and back to the order of the recording.
view = "sort";
const column = (name) => tab.$$eval("#list thead th", (titles, name) => titles.findIndex((title) => title.textContent.trim() === name), name);
const cells = (at) => tab.$$eval("#list tr[data-place]", (lines, at) => lines.map((line) => line.cells[at].textContent), at);
const numbers = (list) => list.filter((text) => text && text !== "-").map((text) => {
  const [, number, unit] = /^([\d.,]+)\s*([a-zA-Z]*)/.exec(text);
  return Number(number.replaceAll(",", "")) * ({ "": 1, B: 1, kB: 1e3, MB: 1e6, ms: 1, s: 1e3 }[unit] || 1);
});
const rises = (list) => list.every((number, at) => at === 0 || list[at - 1] <= number);
const sortOf = (at) => tab.$$eval("#list thead th", (titles, at) => titles[at].ariaSort, at);
for (const name of ["#", "SIZE", "LAT", "RESOURCES"]) {
  const at = await column(name);
  const before = await cells(at);
  const press = () => tab.$$eval("#list thead button", (buttons, at) => buttons[at].click(), at);
  await press();
  expect(`${name} ascending: ${await cells(at)}`, rises(numbers(await cells(at))) && (await sortOf(at)) === "ascending");
  await press();
  expect(`${name} descending: ${await cells(at)}`, rises(numbers(await cells(at)).reverse()) && (await sortOf(at)) === "descending");
  await press();
  expect(`${name} is not in the first order`, (await cells(at)).join() === before.join() && !(await sortOf(at)));
}
for (const key of ["Enter", "Space"]) {
  const at = await column("KIND");
  await tab.$$eval("#list thead button", (buttons, at) => buttons[at].focus(), at);
  for (const sort of ["ascending", "descending", null]) {
    await tab.keyboard.press(key);
    expect(`${key} sorts ${await sortOf(at)}`, (await sortOf(at)) === sort);
  }
}
const size = await column("SIZE");
await tab.$$eval("#list thead button", (buttons, at) => buttons[at].click(), size);
await tab.keyboard.press("Home");
await tab.keyboard.press("ArrowDown");
expect("arrows do not move in a sorted list", (await tab.$eval('#list tr[aria-selected="true"]', (line) => line.dataset.place)) === "1");
await tab.evaluate((hash) => (location.hash = hash), "#m1");
await tab.waitForFunction(() => document.querySelector("#detail h3")?.textContent.startsWith("#1 "), { timeout: 5000 });
expect("a link chooses another row of a sorted list", (await selected()) === "1");
await tab.keyboard.press("Escape");
for (let times = 0; times < 2; times += 1) await tab.$$eval("#list thead button", (buttons, at) => buttons[at].click(), size);
for (const name of ["#matrix table", "#streams table"]) {
  const order = () => tab.$$eval(`${name} tbody tr`, (lines) => lines.map((line) => line.cells[0].textContent));
  const sort = () => tab.$eval(`${name} thead button`, (button) => button.click());
  const before = await order();
  await sort();
  const up = await order();
  await sort();
  expect(`${name} does not sort`, (await order()).join() === up.toReversed().join() || before.length < 2);
  await sort();
  expect(`${name} is not in the first order`, (await order()).join() === before.join());
}

// The filter language: each expression, with the rows that it leaves, or none for an error.
view = "filter";
const filter = async (text) => {
  await tab.$eval("#q", (input, text) => {
    input.value = text;
    input.dispatchEvent(new Event("input"));
  }, text);
  const isInvalid = await tab.$eval("#q", (input) => input.ariaInvalid === "true");
  const said = await tab.$eval("#count", (count) => count.textContent);
  return isInvalid ? null : Number(said.split(" of ")[0].replaceAll(",", ""));
};
const counts = {};
const expressions = ["", "kind:nack", "!kind:nack", "kind:nack | kind:push", "kind:/^n/", "(kind:nack | kind:push) type:cds",
  "/NACK|push/", "size>1b", "lat>0ms", "res>=1", "#1..", "after:#1", "\"NACK\"", "kind:na*", "type:cds"];
for (const text of expressions) counts[text] = await filter(text);
for (const text of expressions) expect(`${text} is refused`, counts[text] !== null);
expect("! does not negate", counts["kind:nack"] + counts["!kind:nack"] === counts[""]);
expect("| does not unite", counts["kind:nack | kind:push"] > counts["kind:nack"] && counts["kind:nack"] > 0);
expect("a regex of a field differs", counts["kind:/^n/"] === counts["kind:nack"] && counts["kind:na*"] === counts["kind:nack"]);
expect("a regex finds less than fields", counts["/NACK|push/"] >= counts["kind:nack | kind:push"]);
expect("numbers find nothing", counts["size>1b"] > 0 && counts["lat>0ms"] > 0 && counts["res>=1"] > 0);
const said = async (text) => {
  await filter(text);
  return tab.$eval("#count", (count) => count.textContent);
};
for (const [text, near] of [["kind:nak", "nack"], ["dir:rq", "req"], ["type:cd", "cds"], ["!kind:pushh", "push"], ["kind:/nak/", "nack"]]) {
  const words = await said(text);
  expect(`${text} is ${words}`, (await filter(text)) === null && words.startsWith("not a ") && words.includes(`near: ${near}`));
}
for (const text of ["type:clusters", "type:Cluster", "type:*Listener", "dir:re*", "type:envoy.config.cluster.v3.Cluster"]) {
  expect(`${text} is refused`, (await filter(text)) !== null);
}
expect("a name of a type differs", counts["type:cds"] === (await filter("type:clusters")));
for (const text of ["a | (b", "/x", "\"x", "nosuch:1", "has:x", "size>x", "a | ", ")", "name:x"]) {
  expect(`${text} passes`, (await filter(text)) === null);
}
await filter("");

// Graphs zoom by button and by key, and fit again.
view = "graph";
if (await tab.$(".graph svg")) {
  const box = () => tab.$eval(".graph svg", (svg) => svg.getAttribute("viewBox"));
  const whole = await box();
  await tab.$eval(".zoom button", (button) => button.click());
  expect("the button does not zoom", (await box()) !== whole);
  await tab.focus(".graph");
  await tab.keyboard.press("ArrowRight");
  await tab.keyboard.press("0");
  expect("0 does not fit", (await box()) === whole);
}

// By screen reader: landmarks, one h1, levels without gaps, a name for each control and picture.
view = "accessibility";
const tree = await tab.evaluate(() => {
  const levels = [...document.querySelectorAll("h1, h2, h3, h4")].map((heading) => Number(heading.tagName[1]));
  const named = (element) => element.getAttribute("aria-label") || element.getAttribute("aria-labelledby")
    || element.textContent.trim() || (element.labels && element.labels.length > 0);
  const unnamed = [...document.querySelectorAll("button, input, a, [role=img], section, [role=grid]")].filter((of) => !named(of));
  return {
    lang: document.documentElement.lang,
    mains: document.querySelectorAll("main").length,
    navs: document.querySelectorAll("nav[aria-label]").length,
    titles: levels.filter((level) => level === 1).length,
    gaps: levels.filter((level, at) => at > 0 && level > levels[at - 1] + 1).length,
    unnamed: unnamed.map((of) => of.outerHTML.slice(0, 80)),
  };
});
expect(`landmarks and headings: ${JSON.stringify(tree)}`,
  tree.lang === "en" && tree.mains === 1 && tree.navs === 1 && tree.titles === 1 && tree.gaps === 0 && !tree.unnamed.length);

// axe finds nothing, in both schemes and with a message open.
view = "axe";
const axe = fs.readFileSync("node_modules/axe-core/axe.min.js", "utf8");
for (const scheme of ["light", "dark"]) {
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await tab.goto(pathToFileURL(page).href);
  await click();
  await tab.evaluate(axe);
  const found = await tab.evaluate(() => window.axe.run(document, { rules: { "label-content-name-mismatch": { enabled: true } } }));
  for (const { id, help, nodes } of found.violations) {
    wrong.push(`${scheme}: axe: ${id}: ${help}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" ")}`);
  }
}
const graphs = await tab.$$eval(".graph", (list) => list.map((graph) => graph.ariaLabel));
expect(`graphs with one name: ${graphs}`, new Set(graphs).size === graphs.length);

// On paper: a page for ten messages, the matrix and the timeline as wide as the page, rows close.
view = "print";
await tab.reload();
const paper = await tab.pdf({ path: path.join(folder, "page.pdf"), format: "A4" });
const sheets = Buffer.from(paper).toString("latin1").match(/\/Type\s*\/Page\b/g)?.length;
const all = await tab.$eval("#verdict > p:last-child", (line) => Number(/(\d+) messages?/.exec(line.textContent)[1]));
const MAX_SHEETS = Math.max(2, Math.ceil(all / 10));
expect(`${sheets} sheets for ${all} messages`, sheets <= MAX_SHEETS);
await tab.setViewport({ width: 700, height: 900 });
await tab.emulateMediaType("print");
const printed = await tab.evaluate(() => {
  window.dispatchEvent(new Event("beforeprint"));
  const right = (name) => Math.max(...[...document.querySelectorAll(name)].map((of) => of.getBoundingClientRect().right));
  const heights = [...document.querySelectorAll("#list tbody tr")].map((line) => line.getBoundingClientRect().height);
  return { right: right("#matrix th, #matrix td, #list th, #list td"), row: Math.max(...heights), rows: heights.length };
});
expect(`printed: ${JSON.stringify(printed)}`, printed.right <= 700 && printed.row < 120 && printed.rows > all);
await tab.emulateMediaType("screen");
await tab.setViewport({ width: 1280, height: 900 });

// Without JavaScript: verdict, problems and cards.
view = "without JavaScript";
await tab.setJavaScriptEnabled(false);
await tab.goto(pathToFileURL(page).href);
const text = await tab.evaluate(() => document.body.innerText);
expect("no verdict without JavaScript", /\d+ problems?/.test(text));
expect("no card without JavaScript", /last good/.test(text));
expect("no word on the timeline without JavaScript", text.includes("The timeline needs JavaScript"));

await browser.close();
for (const complaint of wrong) console.error(complaint);
process.exitCode = wrong.length > 0 ? 1 : 0;
