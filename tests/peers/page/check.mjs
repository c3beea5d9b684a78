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
    cut: notes.filter((note) => note.scrollHeight > note.clientHeight + 1).length,
  };
});
expect(`phone: ${JSON.stringify(phone)}`, phone.overflow <= 0 && phone.graph <= 360 && phone.problems <= 360
  && phone.menu.includes("\u203a") && phone.cut === 0);
await tab.screenshot({ path: path.join(folder, "phone.png"), fullPage: true });
await tab.setViewport({ width: 1280, height: 900 });
await tab.goto(pathToFileURL(page).href);

// By keyboard: filter, choose a row, go to its pair.
view = "keyboard";
await tab.keyboard.press("/");
await tab.keyboard.type("kind:nack");
const rows = () => tab.$$eval("#list tr[data-place]", (lines) => lines.map((line) => line.textContent));
const filtered = await rows();
expect(`${filtered.length} rows match`, filtered.length > 0 && filtered.every((text) => text.includes("NACK")));
await tab.keyboard.press("Enter");
const selected = () => tab.$eval('#list tr[aria-selected="true"]', (line) => line.firstChild.textContent);
const first = await selected();
await tab.keyboard.press("Enter");
expect(`Enter stays on #${first}`, (await selected()) !== first);
expect("the list has no focus", await tab.evaluate(() => document.activeElement.id === "grid"));

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
  "/NACK|push/", "size>1b", "lat>0ms", "res>=1", "#1..", "after:#1", "\"NACK\"", "kind:na*"];
for (const text of expressions) counts[text] = await filter(text);
for (const text of expressions) expect(`${text} is refused`, counts[text] !== null);
expect("! does not negate", counts["kind:nack"] + counts["!kind:nack"] === counts[""]);
expect("| does not unite", counts["kind:nack | kind:push"] > counts["kind:nack"] && counts["kind:nack"] > 0);
expect("a regex of a field differs", counts["kind:/^n/"] === counts["kind:nack"] && counts["kind:na*"] === counts["kind:nack"]);
expect("a regex finds less than fields", counts["/NACK|push/"] >= counts["kind:nack | kind:push"]);
expect("numbers find nothing", counts["size>1b"] > 0 && counts["lat>0ms"] > 0 && counts["res>=1"] > 0);
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

// On paper, the rows are there.
view = "print";
await tab.reload();
const paper = await tab.pdf({ path: path.join(folder, "page.pdf"), format: "A4" });
expect(`the PDF has ${paper.length} bytes`, paper.length > 10_000);

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
