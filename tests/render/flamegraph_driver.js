// Uses a flame graph as a reader would, and leaves what it saw in the page for the test to read.
const at = (svg, name) =>
  Array.from(svg.querySelectorAll(".box")).find(
    (box) => box.querySelector("title").textContent.split("\n")[0] === name,
  );
const width = (svg, name) => Number(at(svg, name).querySelector("rect").getAttribute("width"));
const shown = (svg) =>
  Array.from(svg.querySelectorAll(".box:not(.away)"), (box) =>
    box.querySelector("title").textContent.split("\n")[0],
  );
const view = (svg) => svg.ownerDocument.defaultView;

function search(svg, text) {
  const input = svg.querySelector("input.search");
  input.value = text;
  input.dispatchEvent(new (view(svg).Event)("input", { bubbles: true }));
  return svg.querySelector("output").textContent;
}

function press(svg, key) {
  const event = { key, bubbles: true, cancelable: true };
  svg.ownerDocument.activeElement.dispatchEvent(new (view(svg).KeyboardEvent)("keydown", event));
  return svg.querySelector(".details").textContent.split(":")[0];
}

function click(svg, name) {
  const event = new (view(svg).MouseEvent)("click", { bubbles: true });
  at(svg, name).querySelector("rect").dispatchEvent(event);
}

function drive(svg) {
  const seen = { live: svg.classList.contains("live"), all: shown(svg).length };
  seen.whole = width(svg, "all busy cycles");
  seen.search = search(svg, "ETHER");
  seen.found = Array.from(svg.querySelectorAll(".found title"), (title) =>
    title.textContent.split("\n")[0],
  );
  seen.nothing = search(svg, "no such function");
  search(svg, "");
  seen.searching = svg.classList.contains("searching");
  click(svg, "lookup");
  seen.keysGoOnFromThere = svg.ownerDocument.activeElement === at(svg, "lookup");
  seen.zoomed = shown(svg);
  seen.zoomedWidths = seen.zoomed.map((name) => width(svg, name));
  seen.zoomedLabel = at(svg, "lookup").querySelector("text").textContent;
  svg.querySelector("button.reset").click();
  seen.afterReset = shown(svg).length;
  at(svg, "all busy cycles").focus();
  seen.keys = ["ArrowUp", "ArrowUp", "ArrowUp", "ArrowRight", "ArrowDown"].map((key) =>
    press(svg, key),
  );
  press(svg, "Enter");
  seen.zoomedByKey = width(svg, "rx_task");
  press(svg, "Escape");
  seen.afterEscape = shown(svg).length;
  seen.tabStops = svg.querySelectorAll(".box[tabindex='0']").length;
  seen.foreignScriptRan = Boolean(view(svg).foreignScriptRan);
  return seen;
}
