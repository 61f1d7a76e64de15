// The form that asks for more boots of one revision of a search's range.

import { act, isLoggedIn } from "./api.js";
import { count, h } from "./ui.js";

const { useEffect, useState } = window.React;

/** `picked` is the label of the commit that was pointed at last; `again` looks at the search anew. */
export function MoreBoots({ path, picked, again }) {
  const [revision, setRevision] = useState("");
  const [told, setTold] = useState(null);
  useEffect(() => { if (picked) setRevision(picked); }, [picked]);
  const submit = async (event) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const iterations = Number(fields.get("iterations"));
    try {
      const { label } = await act(path, "measure", {
        revision: revision.trim(), iterations, fresh: fields.get("fresh") !== null,
      });
      setTold(h("p", { role: "status" }, `${count(iterations, "iteration")} of ${label} asked for.`));
      again();
    } catch (error) {
      setTold(h("p", { role: "alert", className: "trouble" }, error.message));
    }
  };
  return h("form", { className: "start boots", onSubmit: submit },
    h("h2", null, "Measure more"),
    h("fieldset", { disabled: !isLoggedIn() },
      h("label", null, "revision", h("input", { name: "revision", required: true, autoComplete: "off", spellCheck: false,
        placeholder: "point at one above", value: revision, onChange: (e) => setRevision(e.target.value) })),
      h("label", null, "iterations", h("input", { name: "iterations", type: "number", min: 1, max: 100, defaultValue: 3, required: true })),
      h("label", { className: "tick" }, h("input", { name: "fresh", type: "checkbox" }), "build it again"),
      h("button", { className: "main" }, "Measure")),
    told);
}
