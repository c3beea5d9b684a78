"use strict";
(() => {
  const MAX_PRINTED_ROWS = 500;
  const OVERSCAN_ROWS = 12;
  const byId = (id) => document.getElementById(id);
  const block = JSON.parse(byId("rows").textContent);
  const field = Object.fromEntries(block.fields.map((name, at) => [name, at]));
  const ANSWERS = block.fields.length;
  const NUMBERS = new Set(["n", "stream", "dir"]);
  const value = (row, name) => (NUMBERS.has(name) ? row[field[name]] : block.strings[row[field[name]]]);
  const ARROWS = ["", "→", "←"];
  const DIRECTIONS = ["life", "req", "resp"];
  const DIRECTION_WORDS = ["", "req", "resp"];

  // Titles and cells of the columns, as `xdscope log` has them.
  const COLUMNS = [
    ["#", (row) => String(row[0] || "-"), "number muted"],
    ["TIME", (row) => value(row, "time"), "number"],
    ["Δ", (row) => value(row, "delta"), "number muted"],
    ["NODE", (row) => `${value(row, "node")} #${value(row, "stream")}`, ""],
    ["", (row) => ARROWS[value(row, "dir")], "muted"],
    ["TYPE", (row) => value(row, "type"), ""],
    ["KIND", (row) => value(row, "kind"), "kind"],
    ["VER", (row) => value(row, "version"), ""],
    ["NONCE", (row) => value(row, "nonce"), ""],
    ["RESOURCES", (row) => value(row, "resources"), ""],
    ["SIZE", (row) => value(row, "size"), "number"],
    ["LAT", (row) => value(row, "latency"), "number"],
    ["NOTE", (row) => value(row, "note"), "long"],
  ];

  const rows = block.rows;
  const byNumber = new Map();
  const answeredBy = new Map();
  rows.forEach((row, at) => {
    if (row[0]) byNumber.set(row[0], at);
    if (row[ANSWERS] && value(row, "dir") === 1) answeredBy.set(row[ANSWERS], row[0]);
  });
  const pairOf = (row) => answeredBy.get(row[0]) || row[ANSWERS] || 0;

  // The filter: a list of conditions, all of which hold.
  const FIELDS = {
    node: (row) => [value(row, "node")],
    type: (row) => [value(row, "type_word"), value(row, "type")],
    stream: (row) => [String(value(row, "stream"))],
    dir: (row) => [DIRECTION_WORDS[value(row, "dir")]],
    kind: (row) => [value(row, "kind_word")],
    version: (row) => [value(row, "version")],
    nonce: (row) => [value(row, "nonce")],
  };
  const pattern = (word, isWhole) => {
    const parts = word.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
    const whole = isWhole || parts.length > 1;
    const source = whole ? `^${parts.join(".*")}$` : parts.join("");
    return new RegExp(source, /\p{Lu}/u.test(word) ? "su" : "siu");
  };
  const condition = (word) => {
    const range = /^#(\d+)(?:(\.\.)#?(\d*))?$/.exec(word);
    if (range) {
      const from = Number(range[1]);
      const to = range[2] ? (range[3] ? Number(range[3]) : Infinity) : from;
      return (row) => row[0] >= from && row[0] <= to;
    }
    const named = /^([a-z]+)[:=](.+)$/.exec(word);
    if (named && FIELDS[named[1]]) {
      const texts = FIELDS[named[1]];
      const found = pattern(named[2].replace(named[1] === "stream" ? /^#/ : /^$/, ""), true);
      return (row) => texts(row).some((text) => found.test(text));
    }
    if (named && !word.includes("://")) throw new Error(`unknown field: ${named[1]}`);
    const found = pattern(word, false);
    return (row) => COLUMNS.some(([, text]) => found.test(text(row)));
  };
  const parse = (text) => {
    const tests = [];
    for (const [, no, word] of text.matchAll(/(!?)((?:[^\s"]|"[^"]*"?)+)/g)) {
      const plain = word.replaceAll('"', "");
      if (!plain || plain.startsWith("(") || plain === "|") throw new Error("| and ( ) are not supported here");
      const test = condition(plain);
      tests.push(no ? (row) => !test(row) : test);
    }
    return (row) => tests.every((test) => test(row));
  };

  const [list, input, count, asLadder, detail] = ["list", "q", "count", "as-ladder", "detail"].map(byId);
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  let shown = rows.map((_, at) => at);
  let active = -1;
  let rowHeight = 26;
  let drawn = [-1, -1];

  const table = make("table");
  table.setAttribute("role", "grid");
  table.setAttribute("aria-label", "Messages");
  const head = make("thead");
  const body = make("tbody");
  table.append(head, body);
  list.append(table);
  table.id = "grid";
  table.tabIndex = 0;

  const titles = () => {
    table.className = asLadder.checked ? "as-ladder" : "as-table";
    const line = make("tr");
    const names = asLadder.checked ? ["#", "TIME", "NODE", "client → server, server → client", "LAT", "NOTE"] : COLUMNS.map(([title]) => title);
    for (const name of names) {
      const cell = make("th", "", name);
      cell.scope = "col";
      line.append(cell);
    }
    head.replaceChildren(line);
    return names.length;
  };
  let width = titles();

  const space = (height) => {
    const line = make("tr", "space");
    line.setAttribute("aria-hidden", "true");
    const cell = make("td");
    cell.colSpan = width;
    cell.style.height = `${height}px`;
    line.append(cell);
    return line;
  };
  const cellsOf = (row) => {
    const role = value(row, "role");
    if (!asLadder.checked) {
      return COLUMNS.map(([, text, name]) => {
        const cell = make("td", name === "kind" ? role : name, text(row));
        if (name === "long") cell.title = text(row);
        return cell;
      });
    }
    const lane = make("td", "lane-cell");
    const words = [5, 6, 7, 8, 9].map((at) => COLUMNS[at][1](row)).filter(Boolean);
    lane.append(make("span", "lane", words.join("  ")));
    return [0, 1, 3].map((at) => make("td", COLUMNS[at][2], COLUMNS[at][1](row)))
      .concat(lane, [11, 12].map((at) => make("td", COLUMNS[at][2], COLUMNS[at][1](row))));
  };
  const lineOf = (place) => {
    const row = rows[shown[place]];
    const line = make("tr", `${DIRECTIONS[value(row, "dir")]} ${asLadder.checked ? value(row, "role") : ""}`.trim());
    line.id = `row-${place}`;
    line.dataset.place = place;
    line.setAttribute("aria-rowindex", place + 2);
    line.setAttribute("aria-selected", String(place === active));
    line.append(...cellsOf(row));
    return line;
  };
  const draw = (force) => {
    const first = Math.max(0, Math.floor(list.scrollTop / rowHeight) - OVERSCAN_ROWS);
    const last = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / rowHeight) + OVERSCAN_ROWS);
    if (!force && first === drawn[0] && last === drawn[1]) return;
    drawn = [first, last];
    const lines = [];
    for (let place = first; place < last; place += 1) lines.push(lineOf(place));
    body.replaceChildren(space(first * rowHeight), ...lines, space((shown.length - last) * rowHeight));
    const line = body.children[1];
    const height = lines.length ? line.getBoundingClientRect().height : 0;
    if (height > 4 && Math.abs(height - rowHeight) > 0.5) {
      rowHeight = height;
      draw(true);
    }
  };

  const link = (n) => {
    const anchor = make("a", "", `#${n}`);
    anchor.href = `#m${n}`;
    return anchor;
  };
  const describe = () => {
    const row = rows[shown[active]];
    detail.hidden = !row;
    if (!row) return detail.replaceChildren();
    const items = make("dl");
    for (const [title, text] of COLUMNS) {
      const words = text(row);
      if (!title || !words) continue;
      const item = make("div", title === "NOTE" ? "wide" : "");
      item.append(make("dt", "", title.toLowerCase()), make("dd", title === "KIND" ? value(row, "role") : "", words));
      items.append(item);
    }
    const pair = pairOf(row);
    if (pair) {
      const item = make("div");
      const text = make("dd");
      text.append(link(pair));
      item.append(make("dt", "", "pair"), text);
      items.append(item);
    }
    detail.replaceChildren(items);
  };
  const select = (place, center) => {
    active = Math.max(0, Math.min(shown.length - 1, place));
    const top = active * rowHeight;
    const header = head.getBoundingClientRect().height;
    const room = list.clientHeight - header;
    if (center) list.scrollTop = top - room / 2;
    else if (top < list.scrollTop) list.scrollTop = top;
    else if (top + rowHeight > list.scrollTop + room) list.scrollTop = top + rowHeight - room;
    draw(true);
    table.setAttribute("aria-activedescendant", `row-${active}`);
    describe();
  };
  const show = (n) => {
    const at = byNumber.get(n);
    if (at === undefined) return;
    if (!shown.includes(at)) {
      input.value = "";
      apply();
    }
    select(shown.indexOf(at), true);
  };
  const apply = () => {
    let matches;
    try {
      matches = parse(input.value);
      input.removeAttribute("aria-invalid");
    } catch (error) {
      input.setAttribute("aria-invalid", "true");
      count.textContent = error.message;
      return;
    }
    const before = shown[active];
    shown = [];
    rows.forEach((row, at) => {
      if (matches(row)) shown.push(at);
    });
    active = before === undefined ? -1 : shown.indexOf(before);
    table.setAttribute("aria-rowcount", shown.length + 1);
    const left = block.left_out ? `; ${block.left_out}` : "";
    count.textContent = `${shown.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows${left}`;
    list.scrollTop = 0;
    draw(true);
    describe();
  };

  list.addEventListener("scroll", () => requestAnimationFrame(() => draw(false)), { passive: true });
  new ResizeObserver(() => draw(true)).observe(list);
  body.addEventListener("click", (event) => {
    const line = event.target.closest("tr[data-place]");
    if (line) select(Number(line.dataset.place));
  });
  table.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor(list.clientHeight / rowHeight) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -shown.length, End: shown.length };
    if (event.ctrlKey || event.altKey || event.metaKey || !shown.length) return;
    if (steps[event.key] !== undefined) {
      event.preventDefault();
      select(active < 0 && event.key !== "End" ? 0 : active + steps[event.key]);
    } else if (event.key === "Enter" && active >= 0) {
      event.preventDefault();
      const pair = pairOf(rows[shown[active]]);
      if (pair) show(pair);
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, textarea") || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    input.focus();
  });
  input.addEventListener("input", apply);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      input.value = "";
      apply();
    } else if (event.key === "ArrowDown" || event.key === "Enter") {
      event.preventDefault();
      table.focus({ preventScroll: true });
      if (shown.length) select(Math.max(active, 0));
    }
  });
  asLadder.addEventListener("change", () => {
    width = titles();
    draw(true);
  });
  const go = () => {
    const n = /^#m(\d+)$/.exec(location.hash);
    if (!n) return;
    show(Number(n[1]));
    byId("timeline").scrollIntoView();
    table.focus({ preventScroll: true });
  };
  addEventListener("hashchange", go);
  document.addEventListener("click", (event) => {
    const anchor = event.target.closest('a[href^="#m"]');
    // A second click on one number does not change the hash.
    if (anchor && anchor.hash === location.hash) go();
  });
  addEventListener("beforeprint", () => {
    const lines = [];
    for (let place = 0; place < Math.min(shown.length, MAX_PRINTED_ROWS); place += 1) lines.push(lineOf(place));
    if (shown.length > lines.length) {
      const line = make("tr");
      const cell = make("td", "muted", `${(shown.length - lines.length).toLocaleString("en")} more rows`);
      cell.colSpan = width;
      line.append(cell);
      lines.push(line);
    }
    body.replaceChildren(...lines);
  });
  addEventListener("afterprint", () => draw(true));

  for (const id of ["tools", "list", "keys"]) byId(id).hidden = false;
  apply();
  go();
})();
