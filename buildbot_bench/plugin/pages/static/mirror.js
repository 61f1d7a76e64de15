// How far the first clone of the repository is: until it ends, nobody can name a revision.

import { usePolled } from "./api.js";
import { h } from "./ui.js";

const { useState } = window.React;

const LIVE_MS = 2000;
const SELDOM_MS = 60_000;

function Words({ mirror }) {
  if (mirror.state === "trouble") return h("p", { role: "alert", className: "trouble" }, mirror.text);
  return h("p", { role: "status", className: "mirror" }, `${mirror.text}. Revisions are known when it ends.`);
}

/** Nothing, once the mirror is there. */
export function Mirror() {
  const [period, setPeriod] = useState(LIVE_MS);
  const { data } = usePolled("mirror", period);
  const [mirror] = data ?? [];
  if (!mirror) return null;
  const wanted = mirror.state === "ready" ? SELDOM_MS : LIVE_MS;
  if (wanted !== period) setPeriod(wanted);
  return mirror.state === "ready" ? null : h(Words, { mirror });
}
