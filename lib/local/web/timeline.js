/** Draws the timeline of a task: one line a step, with its detail and the frame that went over the wire inside. */
import { h } from "./dom.js";

const zones = {
  slack: "Slack",
  verification: "Verification zone",
  transport: "Transport",
  execution: "Execution zone",
  agent: "Agent",
};
/** The steps that are open, so that drawing again does not close them. */
const opened = new Set();

/** `key` names the task. */
export function drawTimeline({ steps, key }) {
  return steps.map((step, index) =>
    drawStep(step, { key: `${key}/${index}`, startMs: steps[0].atMs }),
  );
}

function drawStep({ atMs, zone, title, detail = {}, failed, frame }, { key, startMs }) {
  const outcome = outcomeOf(frame);
  const line = [
    title,
    outcome && h(`span.chip${outcome.isGood ? "" : ".bad"}`, outcome.text),
    failed && h("span.chip.bad", "failed"),
    h("span.zone", zones[zone] ?? zone),
  ];
  const facts = Object.entries(detail).map(([name, value]) => fact(name, String(value)));
  const isEmpty = facts.length === 0 && frame === undefined;
  return h(
    `li.step.${zone}${failed ? ".failed" : ""}`,
    h(
      "time",
      { title: new Date(atMs).toLocaleTimeString() },
      `+${((atMs - startMs) / 1000).toFixed(2)} s`,
    ),
    h("span.dot"),
    isEmpty
      ? h("div.plain", line)
      : foldable(
          key,
          h("summary", { "data-key": key }, line),
          facts.length > 0 && h("dl.facts", facts),
          frame !== undefined && h("pre", JSON.stringify(frame, null, 2)),
        ),
  );
}

function foldable(key, ...children) {
  const ontoggle = ({ target }) => (target.open ? opened.add(key) : opened.delete(key));
  return h("details", { open: opened.has(key), ontoggle }, children);
}

/** The outcome of a JSON-RPC response, shown without opening the step. */
function outcomeOf(frame) {
  const { result, error, failed } = Object(frame);
  if (result?.status !== undefined) return { text: result.status, isGood: true };
  const text = error?.data?.reason ?? failed ?? error?.message;
  return text === undefined ? undefined : { text, isGood: false };
}

export const fact = (name, value) => h("div", h("dt", name), h("dd", value));

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
];

/** In the largest unit that fits. */
export function durationText(ms) {
  const [name, size] = units.find(([, unitMs]) => Math.abs(ms) >= unitMs) ?? ["ms", 1];
  return `${size === 1 ? Math.round(ms) : Math.trunc(ms / size)} ${name}`;
}
