/** Dead letters: what was given up on, why, and another chance for it. */
import { h, redraw } from "../../web/dom.js";
import { errorBox } from "../../web/server.js";
import { act, ageOf, confirmed, count, read, shortId } from "./view.js";

export function deadLettersView({ box, say, left }) {
  let rows = [];
  const about = h("p.soft");
  const list = h("ul.panel.dead-letters", { "aria-label": "Dead letters" });
  const problem = errorBox();
  const tools = h("div.tools");
  box.append(h("div.view-head", h("h2", "Dead letters"), tools), about, problem.box, list);

  const look = () =>
    problem.attempt(async () => {
      const found = await read("dead-letters");
      if (left.aborted) return;
      rows = found.rows;
      about.textContent = found.about;
      draw();
    });

  function draw() {
    const disabled = !rows.some(({ requestId }) => requestId !== null);
    redraw(tools, [
      h("button.quiet", { "data-key": "look", onclick: look }, "Refresh"),
      h("button.quiet", { "data-key": "all", disabled, onclick: () => redrive() }, "Redrive all"),
    ]);
    redraw(list, rows.length === 0 ? [h("li.none", "No dead letters.")] : rows.map(drawRow));
  }

  function drawRow({ key, requestId, kind, keptAtMs, task, reason }) {
    const text = h("span.reason", reason, h("small", `task: ${task}`));
    const start = requestId === null ? h("span.soft", "unreadable") : taskLink(requestId);
    const label = { "aria-label": `Redrive ${shortId(requestId ?? "")}` };
    const properties = {
      ...label,
      "data-key": `redrive/${key}`,
      onclick: () => redrive(requestId),
    };
    const button = requestId !== null && h("button.quiet", properties, "Redrive");
    return h("li.letter", start, h("span.soft", kind), text, ageOf(keptAtMs), button);
  }

  async function redrive(requestId) {
    const what =
      requestId === undefined
        ? rows.length === 1
          ? "the dead letter"
          : `all ${rows.length} dead letters`
        : shortId(requestId);
    const text =
      "Tasks that never started will start. For tasks that have ended, only the answer is delivered again. No agent runs twice.";
    if (!(await confirmed({ title: `Redrive ${what}?`, text, yes: "Redrive" }))) return;
    await problem.attempt(async () => {
      const body = requestId === undefined ? { all: true } : { requestIds: [requestId] };
      const { redriven } = await act("dead-letters/redrive", body);
      say(`${count(redriven.length, "task")} redriven.`);
      await look();
      if (redriven.length === 0)
        throw new Error("Nothing was redriven: these dead letters no longer exist.");
    });
  }

  void look();
  return { title: "Dead letters" };
}

function taskLink(id) {
  return h("a", { href: `#/tasks/${id}` }, h("code", shortId(id)));
}
