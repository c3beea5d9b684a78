(() => {
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
    const bar = document.createElement("div");
    bar.className = "zoom";
    const buttons = [["+", "zoom in", () => zoomBy(1.5)], ["\u2212", "zoom out", () => zoomBy(1 / 1.5)], ["Fit", "show all", reset]];
    for (const [text, label, act] of buttons) {
      const button = document.createElement("button");
      button.textContent = text;
      button.type = "button";
      button.setAttribute("aria-label", `${text} ${label}: ${graph.getAttribute("aria-label")}`);
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
})();
