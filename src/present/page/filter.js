// The filter: the grammar of the screens, over what the columns show. Returns the function that parses
// an expression to a test of rows.
const makeFilter = (block, columns, value) => {
  const typeNames = new Map(block.types.map((names) => [names[0], names]));
  // Insertions, deletions, changes and swapped neighbours between two words.
  const distance = (a, b) => {
    let [before, row] = [[], Array.from({ length: b.length + 1 }, (_, at) => at)];
    for (let i = 1; i <= a.length; i += 1) {
      const next = [i];
      for (let j = 1; j <= b.length; j += 1) {
        next[j] = Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + Number(a[i - 1] !== b[j - 1]));
        if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) next[j] = Math.min(next[j], before[j - 2] + 1);
      }
      [before, row] = [row, next];
    }
    return row[b.length];
  };
  const MAX_EDITS = 4;
  const MAX_NEAR = 3;
  // Words that need few edits for their length, or begin with what was typed, the nearest first.
  const nearest = (typed, words) => {
    const lower = typed.toLowerCase().slice(0, 100);
    const most = Math.min(MAX_EDITS, Math.max(1, Math.floor(lower.length / 3)));
    const ranked = words.map((word) => [distance(lower, word.toLowerCase()), word]);
    return ranked.filter(([edits, word]) => edits <= most || word.toLowerCase().startsWith(lower))
      .sort((a, b) => a[0] - b[0]).slice(0, MAX_NEAR).map(([, word]) => word);
  };
  const DIRECTIONS = ["", "req", "resp"];
  const FIELDS = {
    __proto__: null,
    node: (row) => [value(row, "node")],
    type: (row) => typeNames.get(value(row, "type_word")) || [value(row, "type_word"), value(row, "type")],
    stream: (row) => [String(value(row, "stream"))],
    dir: (row) => [DIRECTIONS[value(row, "dir")]],
    kind: (row) => [value(row, "kind_word")],
    version: (row) => [value(row, "version")],
    nonce: (row) => [value(row, "nonce")],
    err: (row) => [value(row, "note")],
  };
  // Fields whose text may be a part of the value.
  const PARTIAL_FIELDS = new Set(["err"]);
  const ELSEWHERE = new Set(["name", "state", "rule", "has", "field", "age"]);
  // A time of day, or one since the start, in milliseconds.
  const moment = (text) => {
    if (text.startsWith("+")) return shown.millis(text);
    const found = /^(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?$/.exec(text);
    return found ? (Number(found[1]) * 60 + Number(found[2])) * 6e4 + Number(found[3] || 0) * 1e3 : NaN;
  };
  const NUMERIC = {
    __proto__: null,
    size: [(row) => shown.bytes(value(row, "size")), shown.bytes],
    lat: [(row) => shown.millis(value(row, "latency")), shown.millis],
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
  const anyColumn = (found) => (row) => columns.some(({ text }) => found.test(text(row)));
  const ofField = (name, found) => (row) => FIELDS[name](row).some((text) => found.test(text));
  // Fields with a closed set of values.
  const CLOSED = { __proto__: null, kind: block.kinds, dir: ["req", "resp"], type: block.types.flat() };
  const MAX_EXPECTED = 20;
  const known = (name, found, typed) => {
    const words = CLOSED[name];
    if (!words || words.some((word) => found.test(word))) return found;
    const near = nearest(typed, words);
    const expected = words.length > MAX_EXPECTED ? "" : ` (expected one of: ${words.join(" ")})`;
    throw new Error(`not a ${name}${near.length ? `, near: ${near.join(" ")}` : ""}${expected}`);
  };
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
    return ofField(name, known(name, pattern(bare, !PARTIAL_FIELDS.has(name)), text));
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
            const source = untilSlash();
            tokens.push(ofField(name, known(name, regex(source), source)));
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
  return parse;
};
