// Changes of level over a plot: culprits as filled diamonds, alarms hollow; it knows no series.

import { change, h } from "./ui.js";

const LETTER_PX = 7.5;

/** Where words beside a mark stand, right of it or else left; null where there is no room. */
function placed(words, x, free, right) {
  const wide = LETTER_PX * words.length + 14;
  if (x > free && x + wide <= right) return { words, before: false, free: x + wide };
  return x - wide > Math.max(free, 0) ? { words, before: true, free: x + 10 } : null;
}

/** `marks` are { at, kind, label, effect }, by place; they are named where there is room. */
export function Marks({ marks, scale, top, bottom, higherIsBetter = true }) {
  let free = -Infinity;
  return h("g", null, marks
    .filter((mark) => mark.at >= scale.from && mark.at <= scale.to)
    .map((mark) => {
      const x = scale.x(mark.at);
      // A commit that broke the branch has no effect: nothing was measured behind it.
      const worse = mark.effect === null || mark.effect < 0 === higherIsBetter;
      const effect = change(mark.effect);
      const room = placed(`${mark.label} ${effect}`.trim(), x, free, scale.right) ?? (effect && placed(effect, x, free, scale.right));
      free = room?.free ?? free;
      return h("g", { key: mark.at, className: `shift ${mark.kind} ${worse ? "worse" : "better"}` },
        h("line", { x1: x, x2: x, y1: top - 6, y2: bottom }),
        h("path", { d: `M${x} ${top - 16}l6 6l-6 6l-6 -6z` }),
        room && h("text", { x: room.before ? x - 9 : x + 9, y: top - 6, textAnchor: room.before ? "end" : "start" }, room.words));
    }));
}
