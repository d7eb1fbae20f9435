/** Dead letters: what was given up on, why, and another chance for it. */
import { button, element, redraw } from "../../web/dom.js";
import { act, read } from "./api.js";
import { confirmed } from "./confirm.js";
import { ageOf, count, shortId } from "./words.js";

export function lettersView({ box, say }) {
  let rows = [];
  let hasLeft = false;
  const about = element("p", "soft");
  const list = element("ul", "letters");
  list.setAttribute("aria-label", "Dead letters");
  const problem = element("p", "problem");
  problem.setAttribute("role", "alert");
  const tools = element("div", "deeds");
  box.replaceChildren(element("div", "view-head", element("h2", "", "Dead letters"), tools), about, problem, list);

  async function look() {
    problem.textContent = "";
    try {
      const found = await read("dead-letters");
      if (hasLeft) return;
      rows = found.rows;
      about.textContent = found.about;
      draw();
    } catch (error) {
      problem.textContent = error.message;
    }
  }

  function draw() {
    const all = button({ className: "quiet", label: "Redrive all", key: "all", onClick: () => redrive(undefined) });
    all.disabled = !rows.some(({ requestId }) => requestId !== null);
    redraw(tools, [button({ className: "quiet", label: "Look again", key: "look", onClick: look }), all]);
    if (rows.length === 0) list.replaceChildren(element("li", "none", "There is none."));
    else redraw(list, rows.map(letter));
  }

  function letter({ key, requestId, kind, keptAtMs, task, reason }) {
    const id =
      requestId === null
        ? element("span", "soft", "unreadable")
        : element("a", "", element("code", "", shortId(requestId)));
    if (requestId !== null) id.href = `#/tasks/${requestId}`;
    const deed = button({
      className: "quiet",
      label: "Redrive",
      key: `redrive/${key}`,
      onClick: () => redrive(requestId),
    });
    deed.setAttribute("aria-label", requestId === null ? "Redrive" : `Redrive ${shortId(requestId)}`);
    return element(
      "li",
      "letter",
      id,
      element("span", "kind", kind),
      element("span", "reason", reason, element("small", "", `task: ${task}`)),
      ageOf(keptAtMs),
      ...(requestId === null ? [] : [deed]),
    );
  }

  async function redrive(requestId) {
    const what = requestId === undefined ? `all ${count(rows.length, "letter")}` : shortId(requestId);
    const text =
      "A task that was never begun is begun. Of one that has ended only the delivery of its answer is repeated: no agent runs twice.";
    if (!(await confirmed({ title: `Redrive ${what}?`, text, yes: "Redrive" }))) return;
    try {
      const { redriven } = await act(
        "dead-letters/redrive",
        requestId === undefined ? { all: true } : { requestIds: [requestId] },
      );
      say(`${count(redriven.length, "task")} on the way again.`);
      await look();
      if (redriven.length === 0) problem.textContent = "It is not there any more.";
    } catch (error) {
      problem.textContent = error.message;
    }
  }

  void look();
  return {
    title: "Dead letters",
    keys: {},
    leave() {
      hasLeft = true;
    },
  };
}
