// A picture over a row of commits that pointer and keys walk along and zoom; it knows no data.

import { h } from "./ui.js";

const { useCallback, useLayoutEffect, useRef, useState } = window.React;

const RIGHT = 12;
// A narrower box is scrolled through.
const LEAST = 320;

/** The zoom of a plot over [first, last]: which part is seen, and how to change it. */
export function useZoom(first, last) {
  const [seen, setSeen] = useState(null);
  const [from, to] = seen ?? [first, last];
  const show = (a, b) => {
    const [low, high] = [Math.max(first, Math.min(a, b)), Math.min(last, Math.max(a, b))];
    setSeen(high - low < 2 || (low <= first && high >= last) ? null : [low, high]);
  };
  const around = (centre, factor) => {
    const half = Math.max(((to - from) * factor) / 2, 1);
    const middle = Math.min(Math.max(centre ?? (from + to) / 2, first + half), last - half);
    show(middle - half, middle + half);
  };
  return { from, to, show, around, all: () => setSeen(null), zoomed: seen !== null };
}

function useWidth() {
  const box = useRef(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measure = () => setWidth(Math.max(box.current?.clientWidth ?? 0, LEAST));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  return [box, width];
}

/**
 * The frame. `draw(scale)` gives SVG; scale.x(value) is where a value of the axis lies. `at` is the
 * value under the cursor or null, `move(value)` is called to change it, `next(value, sign)` is
 * the one beside it. `says` is what a screen reader is told of it.
 */
export function Plot({ label, height, left, zoom, at, move, next, says, draw }) {
  const [box, width] = useWidth();
  const [drag, setDrag] = useState(null);
  const { from, to } = zoom;
  const right = Math.max(width - RIGHT, left + 1);
  const x = useCallback((value) => left + ((value - from) / (to - from || 1)) * (right - left),
    [left, right, from, to]);
  const value = (event) => {
    const place = event.clientX - event.currentTarget.getBoundingClientRect().left;
    const share = Math.min(Math.max((place - left) / (right - left), 0), 1);
    return from + share * (to - from);
  };
  const keys = {
    ArrowLeft: () => move(next(at ?? to, -1)),
    ArrowRight: () => move(next(at ?? from, 1)),
    Home: () => move(next(from - 1, 1)),
    End: () => move(next(to + 1, -1)),
    "+": () => zoom.around(at, 0.5),
    "-": () => zoom.around(at, 2),
    Escape: () => { zoom.all(); move(null); },
  };
  const pressed = (event) => {
    const act = keys[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  };
  const released = (event) => {
    const end = value(event);
    if (drag !== null && Math.abs(x(end) - x(drag)) > 6) zoom.show(drag, end);
    setDrag(null);
  };
  return h("div", { ref: box, className: "plot" }, width > 0 && h("svg", {
    width, height, tabIndex: 0, role: "slider", "aria-label": label,
    "aria-valuemin": Math.round(from), "aria-valuemax": Math.round(to),
    "aria-valuenow": Math.round(at ?? from), "aria-valuetext": says,
    onKeyDown: pressed,
    onPointerDown: (event) => { event.currentTarget.setPointerCapture(event.pointerId); setDrag(value(event)); },
    onPointerMove: (event) => move(value(event)),
    onPointerUp: released,
    onDoubleClick: zoom.all,
  },
  draw({ x, left, right, width, from, to }),
  drag !== null && at !== null && h("rect", {
    className: "drag", x: Math.min(x(drag), x(at)), width: Math.abs(x(at) - x(drag)), y: 0, height,
  })));
}

/** Buttons for what keys and double clicks do. */
export function ZoomButtons({ zoom, at }) {
  return h("span", { className: "zoom" },
    h("button", { type: "button", onClick: () => zoom.around(at, 0.5), title: "or drag over the plot, or press +" }, "Zoom in"),
    h("button", { type: "button", onClick: () => zoom.around(at, 2), disabled: !zoom.zoomed, title: "or press −" }, "Zoom out"),
    h("button", { type: "button", onClick: zoom.all, disabled: !zoom.zoomed, title: "or double-click, or press Escape" }, "All"));
}
