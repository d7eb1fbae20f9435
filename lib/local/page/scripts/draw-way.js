/** Draws the way of a task: one line a step, with its detail inside. */
import { element } from "../../web/dom.js";

const zones = {
  event: "Slack → ingress",
  claim: "worker",
  decision: "worker",
  request: "→ Execution zone",
  response: "← Execution zone",
  delivery: "worker → Slack",
};

/** Which steps are open, so that drawing again does not close them. */
const opened = new Set();

export function drawSteps({ steps, chosen }) {
  const first = steps[0]?.atMs ?? 0;
  return steps.map((step, index) => drawStep({ step, key: `${chosen}/${index}`, first }));
}

export function summaryOf({ steps, chosen }) {
  if (chosen === undefined) return ["Send a message and watch it pass the checkpoint."];
  const named = element("span", "", `Request ${chosen.slice(0, 8)}`);
  named.title = chosen;
  if (steps.length === 0) return [named, " · nothing since the server started"];
  const [first, last] = [steps[0], steps.at(-1)];
  const state = steps
    .findLast(({ kind }) => kind === "claim" || kind === "decision")
    ?.title.split(" → ")
    .at(-1);
  const hasFailed = steps.some(({ failed }) => failed);
  const where = element("span", hasFailed ? "failed" : "", `${state ?? "on its way"}${hasFailed ? ", failed" : ""}`);
  return [named, " · ", where, ` · ${steps.length} steps in ${seconds(last.atMs - first.atMs)}`];
}

function drawStep({ step: { kind, title, detail, atMs, failed }, key, first }) {
  const summary = element("summary", "", title, outcomeOf(kind, detail), element("span", "kind", zones[kind] ?? kind));
  summary.dataset.key = key;
  const details = element("details", "", summary);
  if (detail !== undefined) details.append(element("pre", "", JSON.stringify(detail, null, 2)));
  details.open = opened.has(key);
  details.ontoggle = () => (details.open ? opened.add(key) : opened.delete(key));
  const time = element("time", "", `+${seconds(atMs - first)}`);
  return element("li", `step ${kind}${failed ? " failed" : ""}`, time, element("span", "dot"), details);
}

/** What a JSON-RPC response comes to, so that it can be read without opening it. */
function outcomeOf(kind, detail) {
  if (kind !== "response") return "";
  const good = detail?.result?.status;
  const outcome = good ?? detail?.error?.data?.reason ?? detail?.failed ?? detail?.error?.message;
  return outcome === undefined ? "" : element("span", `outcome${good === undefined ? " failed" : ""}`, outcome);
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(3)} s`;
}
