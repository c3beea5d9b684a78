"use strict";
// What cells show as numbers, and the order of rows by their cells.
const shown = (() => {
  const UNITS = { ns: 1e-6, us: 1e-3, "µs": 1e-3, ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5 };
  const BYTES = { "": 1, b: 1, k: 1e3, kb: 1e3, m: 1e6, mb: 1e6, g: 1e9, gb: 1e9, t: 1e12, tb: 1e12 };
  const plain = (text) => Number(text.replaceAll(",", ""));
  // A time such as 1.5s or 1m53s in milliseconds.
  const millis = (text) => {
    if (!/^\+?(?:[\d.]+\s*(?:ns|us|µs|ms|s|m|h|d)\s*)+$/.test(text)) return NaN;
    return [...text.matchAll(/([\d.]+)\s*([a-zµ]+)/g)].reduce((sum, [, number, unit]) => sum + Number(number) * UNITS[unit], 0);
  };
  const bytes = (text) => {
    const found = /^([\d.,]+)\s*([a-z]*)!?$/i.exec(text);
    return found && found[2].toLowerCase() in BYTES ? plain(found[1]) * BYTES[found[2].toLowerCase()] : NaN;
  };
  // A time, a size, or the number that a text begins with.
  const number = (text) => {
    const [time, size] = [millis(text), bytes(text)];
    if (!Number.isNaN(time)) return time;
    if (!Number.isNaN(size)) return size;
    const found = /^#?(\d[\d,]*)(?:\s|$)/.exec(text);
    return found ? plain(found[1]) : NaN;
  };
  const collator = new Intl.Collator("en", { numeric: true });
  // Sorts by the keys of items: numbers, or texts of which all or none are numbers. Items without a
  // key stay behind the others.
  const sorted = (items, keyOf, isDescending) => {
    const keys = new Map(items.map((item) => [item, keyOf(item)]));
    const isBlank = (key) => key === "" || key === "-";
    const filled = [...keys.values()].filter((key) => !isBlank(key));
    if (filled.every((key) => !Number.isNaN(number(String(key))))) {
      for (const [item, key] of keys) if (!isBlank(key)) keys.set(item, number(String(key)));
    }
    const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : collator.compare(a, b));
    return [...items].sort((a, b) => {
      const [left, right] = [keys.get(a), keys.get(b)];
      if (isBlank(left) || isBlank(right)) return Number(isBlank(left)) - Number(isBlank(right));
      return isDescending ? compare(right, left) : compare(left, right);
    });
  };
  return { millis, bytes, sorted };
})();

// Makes the titles of a table buttons: ascending, descending, and the first order again. `sort` gets
// the index of the title, or -1, and the direction.
const sortByTitles = (titles, sort) => {
  for (const [at, title] of titles.entries()) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = title.textContent;
    title.replaceChildren(button);
    button.addEventListener("click", () => {
      const next = { ascending: "descending", descending: "" }[title.getAttribute("aria-sort") || ""] ?? "ascending";
      for (const other of titles) other.removeAttribute("aria-sort");
      if (next) title.setAttribute("aria-sort", next);
      sort(next ? at : -1, next === "descending");
    });
  }
};

for (const table of document.querySelectorAll("table.sortable")) {
  const lines = [...table.tBodies[0].rows];
  const text = (line, column) => {
    let end = 0;
    const cell = [...line.cells].find((of) => (end += of.colSpan) > column);
    return cell ? cell.textContent.trim() : "";
  };
  sortByTitles([...table.tHead.rows[0].cells], (column, isDescending) => {
    const order = column < 0 ? lines : shown.sorted(lines, (line) => text(line, column), isDescending);
    table.tBodies[0].append(...order);
  });
}
