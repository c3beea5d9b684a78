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

  // The filter: the grammar of the screens, over what the columns show.
  const FIELDS = {
    node: (row) => [value(row, "node")],
    type: (row) => [value(row, "type_word"), value(row, "type")],
    stream: (row) => [String(value(row, "stream"))],
    dir: (row) => [DIRECTION_WORDS[value(row, "dir")]],
    kind: (row) => [value(row, "kind_word")],
    version: (row) => [value(row, "version")],
    nonce: (row) => [value(row, "nonce")],
    err: (row) => [value(row, "note")],
  };
  // Fields whose text may be a part of the value.
  const PARTIAL_FIELDS = new Set(["err"]);
  const ELSEWHERE = new Set(["name", "state", "rule", "has", "field", "age"]);
  const UNITS = { ns: 1e-6, us: 1e-3, "µs": 1e-3, ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5 };
  const BYTES = { "": 1, b: 1, k: 1e3, kb: 1e3, m: 1e6, mb: 1e6, g: 1e9, gb: 1e9 };
  // A time such as 1.5s in milliseconds.
  const millis = (text) => {
    const found = /^\+?([\d.]+)\s*(ns|us|µs|ms|s|m|h|d)$/.exec(text);
    return found ? Number(found[1]) * UNITS[found[2]] : NaN;
  };
  const bytes = (text) => {
    const found = /^([\d.,]+)\s*([a-z]*)!?$/i.exec(text);
    return found && found[2].toLowerCase() in BYTES
      ? Number(found[1].replaceAll(",", "")) * BYTES[found[2].toLowerCase()] : NaN;
  };
  // A time of day, or one since the start, in milliseconds.
  const moment = (text) => {
    if (text.startsWith("+")) return millis(text);
    const found = /^(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?$/.exec(text);
    return found ? (Number(found[1]) * 60 + Number(found[2])) * 6e4 + Number(found[3] || 0) * 1e3 : NaN;
  };
  const NUMERIC = {
    size: [(row) => bytes(value(row, "size")), bytes],
    lat: [(row) => millis(value(row, "latency")), millis],
    res: [(row) => Number.parseInt(value(row, "resources").replaceAll(",", ""), 10), Number],
  };
  const COMPARE = {
    ">": (a, b) => a > b, ">=": (a, b) => a >= b, "<": (a, b) => a < b, "<=": (a, b) => a <= b, "=": (a, b) => a === b,
  };
  const regex = (source) => {
    const capitals = /\p{Lu}/u.test(source.replace(/\\./gsu, ""));
    try {
      return new RegExp(source, capitals ? "su" : "siu");
    } catch {
      throw new Error(`not a regex: /${source}/`);
    }
  };
  const literal = (text) => text.replace(/[.*+?^${}()|[\]\\\/]/g, "\\$&");
  // A word is a list of [character, is it quoted].
  const pattern = (word, isWhole) => {
    const isGlob = word.some(([c, quoted]) => c === "*" && !quoted);
    const source = word.map(([c, quoted]) => (c === "*" && !quoted ? ".*" : literal(c))).join("");
    const capitals = word.some(([c]) => /\p{Lu}/u.test(c));
    return new RegExp(isWhole || isGlob ? `^${source}$` : source, capitals ? "su" : "siu");
  };
  const anyColumn = (found) => (row) => COLUMNS.some(([, text]) => found.test(text(row)));
  const ofField = (name, found) => (row) => FIELDS[name](row).some((text) => found.test(text));
  const unknown = (name) => ELSEWHERE.has(name)
    ? new Error(`${name}: is not on this page; xdscope log --filter knows it`)
    : new Error(`unknown field: ${name}; one of ${[...Object.keys(FIELDS), ...Object.keys(NUMERIC), "after", "before"].join(", ")}`);
  const condition = (word) => {
    const plain = word.map(([c]) => c).join("");
    const range = /^#(\d+)(?:(\.\.)#?(\d*))?$/.exec(plain);
    if (range) {
      const from = Number(range[1]);
      const to = range[2] ? (range[3] ? Number(range[3]) : Infinity) : from;
      return (row) => row[0] >= from && row[0] <= to;
    }
    const numeric = /^([a-z]+)(>=|<=|>|<|=)(.+)$/.exec(plain);
    if (numeric && NUMERIC[numeric[1]]) {
      const [of, parse] = NUMERIC[numeric[1]];
      const limit = parse(numeric[3]);
      if (Number.isNaN(limit)) throw new Error(`not a number for ${numeric[1]}: ${numeric[3]}`);
      return (row) => COMPARE[numeric[2]](of(row), limit);
    }
    const named = /^([a-z]+)[:=](.*)$/su.exec(plain);
    if (!named || plain.includes("://")) return anyColumn(pattern(word, false));
    const [, name, text] = named;
    if (name === "after" || name === "before") {
      const isAfter = name === "after";
      if (text.startsWith("#")) {
        const limit = Number(text.slice(1));
        return (row) => row[0] > 0 && (isAfter ? row[0] > limit : row[0] < limit);
      }
      const limit = moment(text);
      if (Number.isNaN(limit)) throw new Error(`not a time: ${text}`);
      return (row) => (isAfter ? moment(value(row, "time")) >= limit : moment(value(row, "time")) < limit);
    }
    if (!FIELDS[name]) throw unknown(name);
    if (!text) throw new Error(`${name}: needs a value`);
    const rest = word.slice(name.length + 1);
    const bare = name === "stream" && rest[0][0] === "#" ? rest.slice(1) : rest;
    return ofField(name, pattern(bare, !PARTIAL_FIELDS.has(name)));
  };
  const MAX_DEPTH = 64;
  const tokensOf = (text) => {
    const tokens = [];
    const chars = [...text];
    let at = 0;
    const untilSlash = () => {
      let source = "";
      for (at += 1; at < chars.length; at += 1) {
        if (chars[at] === "/") {
          at += 1;
          return source;
        }
        if (chars[at] === "\\" && at + 1 < chars.length) {
          source += chars[at + 1] === "/" ? "\\/" : chars[at] + chars[at + 1];
          at += 1;
        } else source += chars[at];
      }
      throw new Error("the closing / of this regex is missing");
    };
    while (at < chars.length) {
      const c = chars[at];
      if (/\s/u.test(c)) at += 1;
      else if ("|!()".includes(c)) {
        tokens.push(c);
        at += 1;
      } else if (c === "/") tokens.push(anyColumn(regex(untilSlash())));
      else {
        const word = [];
        let isDone = false;
        while (at < chars.length && !isDone && !/[\s|()]/u.test(chars[at])) {
          const so = word.map(([letter]) => letter).join("");
          if (chars[at] === "/" && /^[a-z]+:$/.test(so) && chars[at + 1] !== "/") {
            const name = so.slice(0, -1);
            if (!FIELDS[name]) throw unknown(name);
            tokens.push(ofField(name, regex(untilSlash())));
            word.length = 0;
            isDone = true;
          } else if (chars[at] === '"') {
            at += 1;
            while (chars[at] !== '"') {
              if (chars[at] === "\\") at += 1;
              if (at >= chars.length) throw new Error("the closing quote is missing");
              word.push([chars[at], true]);
              at += 1;
            }
            at += 1;
          } else {
            word.push([chars[at], false]);
            at += 1;
          }
        }
        if (word.length) tokens.push(condition(word));
      }
    }
    return tokens;
  };
  // `|` binds weakest, then the space, then `!`.
  const parse = (text) => {
    const tokens = tokensOf(text);
    let at = 0;
    let depth = 0;
    const unary = () => {
      const token = tokens[at];
      at += 1;
      if (typeof token === "function") return token;
      depth += 1;
      if (depth > MAX_DEPTH) throw new Error("nested too deeply");
      let test;
      if (token === "!") {
        const inner = unary();
        test = (row) => !inner(row);
      } else if (token === "(") {
        test = any();
        if (tokens[at] !== ")") throw new Error("the closing ) is missing");
        at += 1;
      } else throw new Error("expected something to match");
      depth -= 1;
      return test;
    };
    const all = () => {
      const tests = [unary()];
      while (at < tokens.length && tokens[at] !== "|" && tokens[at] !== ")") tests.push(unary());
      return (row) => tests.every((test) => test(row));
    };
    const any = () => {
      const tests = [all()];
      while (tokens[at] === "|") {
        at += 1;
        tests.push(all());
      }
      return (row) => tests.some((test) => test(row));
    };
    if (!tokens.length) return () => true;
    const test = any();
    if (at < tokens.length) throw new Error("this ) has no opening (");
    return test;
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

  // Graphs: drag or arrows to move, + and - or Ctrl and the wheel to zoom, 0 for all.
  const MAX_ZOOM = 8;
  for (const graph of document.querySelectorAll(".graph")) {
    const svg = graph.querySelector("svg");
    const whole = svg.viewBox.baseVal;
    const [width, height] = [whole.width, whole.height];
    let [x, y, zoom] = [0, 0, 1];
    const show = () => {
      const room = [width / zoom, height / zoom];
      x = Math.max(0, Math.min(width - room[0], x));
      y = Math.max(0, Math.min(height - room[1], y));
      // A finger moves the graph, and without a zoom the page.
      svg.classList.toggle("zoomed", zoom > 1);
      svg.setAttribute("viewBox", `${x} ${y} ${room[0]} ${room[1]}`);
    };
    const zoomBy = (factor, atX = 0.5, atY = 0.5) => {
      const next = Math.max(1, Math.min(MAX_ZOOM, zoom * factor));
      x += (width / zoom - width / next) * atX;
      y += (height / zoom - height / next) * atY;
      zoom = next;
      show();
    };
    const moveBy = (dx, dy) => {
      x += (dx * width) / zoom / 10;
      y += (dy * height) / zoom / 10;
      show();
    };
    const reset = () => {
      zoom = 1;
      show();
    };
    const bar = make("div", "zoom");
    const buttons = [["+", "Zoom in", () => zoomBy(1.5)], ["\u2212", "Zoom out", () => zoomBy(1 / 1.5)], ["Fit", "Show all", reset]];
    for (const [text, label, act] of buttons) {
      const button = make("button", "", text);
      button.type = "button";
      button.setAttribute("aria-label", `${label}: ${graph.getAttribute("aria-label")}`);
      button.addEventListener("click", act);
      bar.append(button);
    }
    graph.before(bar);
    const keys = {
      "+": () => zoomBy(1.5), "=": () => zoomBy(1.5), "-": () => zoomBy(1 / 1.5), 0: reset,
      ArrowLeft: () => moveBy(-1, 0), ArrowRight: () => moveBy(1, 0), ArrowUp: () => moveBy(0, -1), ArrowDown: () => moveBy(0, 1),
    };
    graph.addEventListener("keydown", (event) => {
      const act = keys[event.key];
      // Without a zoom the arrows scroll.
      if (!act || event.ctrlKey || event.metaKey || event.altKey || (zoom === 1 && event.key.startsWith("Arrow"))) return;
      event.preventDefault();
      act();
    });
    svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const box = svg.getBoundingClientRect();
      zoomBy(event.deltaY < 0 ? 1.2 : 1 / 1.2, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
    }, { passive: false });
    let from = null;
    svg.addEventListener("pointerdown", (event) => {
      if (zoom === 1 || event.button !== 0) return;
      from = [event.clientX, event.clientY, x, y];
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      if (!from) return;
      const scale = width / zoom / svg.getBoundingClientRect().width;
      x = from[2] - (event.clientX - from[0]) * scale;
      y = from[3] - (event.clientY - from[1]) * scale;
      show();
    });
    for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => (from = null));
    addEventListener("beforeprint", reset);
  }

  for (const id of ["tools", "list", "keys"]) byId(id).hidden = false;
  apply();
  go();
})();
