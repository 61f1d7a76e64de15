// The button that ends what runs; two presses, for what a slip would end has taken days.

import { act, isLoggedIn } from "./api.js";
import { h } from "./ui.js";

const { useState } = window.React;

/** `what` it is, the REST `path` of it, and `again` to look at it anew. */
export function Cancel({ what, path, again }) {
  const [asked, setAsked] = useState(false);
  const [trouble, setTrouble] = useState(null);
  const cancel = () => act(path, "cancel").then(again, setTrouble);
  const may = isLoggedIn();
  return h("span", null,
    trouble && h("span", { role: "alert", className: "trouble" }, trouble.message, " "),
    h("button", { type: "button", disabled: !may, onClick: asked ? cancel : () => setAsked(true),
      title: may ? "The measurements are kept." : "Log in first, top right." },
    asked ? `Really end this ${what}` : "Cancel"),
    asked && h("button", { type: "button", onClick: () => setAsked(false) }, "Go on"));
}
