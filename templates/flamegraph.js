// Search, zoom and keys for the one flame graph that this script stands in; loads and stores nothing.
(() => {
  "use strict";
  const picture = document.currentScript.closest("svg");
  const margin = Number(picture.dataset.margin);
  const room = Number(picture.dataset.width) - 2 * margin;
  const character = Number(picture.dataset.character);
  const rounding = 0.02; // places in the file have two digits
  const part = (name) => picture.querySelector("." + name);

  const boxes = Array.from(picture.querySelectorAll(".box"), (element) => {
    const [title, rect, label] = element.children;
    const [name, about] = title.textContent.split("\n");
    const [x, y, width] = ["x", "y", "width"].map((key) => Number(rect.getAttribute(key)));
    return { element, rect, label, name, about, x, y, width, right: x + width };
  });
  const root = boxes[0];
  const boxOf = new Map(boxes.map((box) => [box.element, box]));
  const holds = (outer, inner) =>
    outer.x <= inner.x + rounding && outer.right >= inner.right - rounding;

  function place(box, x, width) {
    const columns = Math.floor((width - 4) / character);
    const whole = box.name.length <= columns;
    box.rect.setAttribute("x", x.toFixed(2));
    box.rect.setAttribute("width", width.toFixed(2));
    box.label.setAttribute("x", (x + 3).toFixed(2));
    box.label.textContent =
      columns < 3 ? "" : whole ? box.name : box.name.slice(0, columns - 1) + "…";
  }

  // The chosen box gets the whole width, and so do its callers; what stands beside them goes.
  function zoom(chosen) {
    const scale = room / chosen.width;
    for (const box of boxes) {
      const isCaller = box.y > chosen.y && holds(box, chosen);
      const isShown = isCaller || (box.y <= chosen.y && holds(chosen, box));
      box.element.classList.toggle("away", !isShown);
      box.element.classList.toggle("below", isCaller);
      if (isCaller) place(box, margin, room);
      else if (isShown) place(box, margin + (box.x - chosen.x) * scale, box.width * scale);
    }
  }

  // A share counts each cycle once, however many functions of its stack were found.
  function search(text) {
    const wanted = text.trim().toLowerCase();
    const found = boxes.filter((box) => wanted && box.name.toLowerCase().includes(wanted));
    const lowest = found.filter(
      (box) => !found.some((other) => other.y > box.y && holds(other, box)),
    );
    const share = lowest.reduce((sum, box) => sum + box.width, 0) / room;
    picture.classList.toggle("searching", wanted !== "");
    for (const box of boxes) box.element.classList.remove("found");
    for (const box of found) box.element.classList.add("found");
    part("found-share").textContent = wanted
      ? `${found.length} found, ${(100 * share).toFixed(2)}% of the width`
      : "";
  }

  function tell(box) {
    part("details").textContent = box ? `${box.name}: ${box.about}` : "";
  }

  // One box at a time can be reached by the tab key; from there the arrows lead on.
  function focus(box) {
    for (const other of boxes) other.element.setAttribute("tabindex", "-1");
    box.element.setAttribute("tabindex", "0");
    box.element.focus();
  }

  // The lowest of those that are equally wide: boxes come from the root upwards.
  const widest = (some) =>
    some.reduce((best, box) => (best && best.width >= box.width ? best : box), undefined);

  function neighbour(box, key) {
    const shown = boxes.filter((other) => !other.element.classList.contains("away"));
    const level = shown.filter((other) => other.y === box.y);
    switch (key) {
      case "ArrowLeft":
        return level[level.indexOf(box) - 1];
      case "ArrowRight":
        return level[level.indexOf(box) + 1];
      case "ArrowUp":
        return widest(shown.filter((other) => other.y < box.y && holds(box, other)));
      case "ArrowDown":
        return shown.findLast((other) => other.y > box.y && holds(other, box));
      default:
        return undefined;
    }
  }

  function reset() {
    zoom(root);
    part("search").value = "";
    search("");
  }

  const target = (event) => boxOf.get(event.target.closest(".box"));
  picture.addEventListener("click", (event) => {
    const box = target(event);
    if (!box) return;
    focus(box);
    zoom(box);
  });
  for (const kind of ["mouseover", "focusin"]) {
    picture.addEventListener(kind, (event) =>
      tell(target(event) ?? boxOf.get(document.activeElement)),
    );
  }
  picture.addEventListener("keydown", (event) => {
    const box = target(event);
    const next = box && neighbour(box, event.key);
    if (event.key === "Escape") reset();
    else if (box && event.key === "Enter") zoom(box);
    else if (next) focus(next);
    else return;
    event.preventDefault();
  });
  part("search").addEventListener("input", (event) => search(event.target.value));
  part("reset").addEventListener("click", reset);
  root.element.setAttribute("tabindex", "0");
  picture.classList.add("live");
})();
