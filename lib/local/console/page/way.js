/** Draws a task's way: how long it was in each state, and each step with its detail and frame inside. */
import { element } from "../../web/dom.js";
import { durationText, timeText } from "./words.js";

const zones = {
  slack: "Slack",
  verification: "Verification zone",
  transport: "the wire",
  execution: "Execution zone",
  agent: "agent",
};
/** Which steps are open, so that drawing again does not close them. */
const opened = new Set();

export function drawWay({ steps, key }) {
  const first = steps[0]?.atMs ?? 0;
  return steps.map((step, index) => drawStep({ step, key: `${key}/${index}`, first }));
}

function drawStep({ step: { atMs, zone, title, detail, durationMs, failed, frame }, key, first }) {
  const time = element("time", "", `+${((atMs - first) / 1000).toFixed(2)} s`);
  time.title = timeText(atMs);
  const line = [
    title,
    ...(durationMs === undefined ? [] : [element("span", "took", durationText(durationMs))]),
    ...(failed ? [element("span", "outcome failed", "failed")] : []),
    element("span", "zone", zones[zone] ?? zone),
  ];
  const isEmpty = Object.keys(detail ?? {}).length === 0 && frame === undefined;
  const body = isEmpty ? element("div", "plain", ...line) : openable({ line, detail, frame, key });
  return element("li", `step ${zone}${failed ? " failed" : ""}`, time, element("span", "dot"), body);
}

function openable({ line, detail, frame, key }) {
  const summary = element("summary", "", ...line);
  summary.dataset.key = key;
  const facts = Object.entries(detail ?? {}).map(([name, value]) =>
    element("div", "", element("dt", "", name), element("dd", "", String(value))),
  );
  const made = element("details", "", summary, element("dl", "detail", ...facts));
  if (frame !== undefined) made.append(element("pre", "", JSON.stringify(frame, null, 2)));
  made.open = opened.has(key);
  made.ontoggle = () => (made.open ? opened.add(key) : opened.delete(key));
  return made;
}

/** As parts of one line, as long as they took. */
export function drawStates({ history, isOver }) {
  const parts = history.flatMap(({ state, atMs }, index) => {
    const untilMs = history[index + 1]?.atMs ?? (isOver ? atMs : Date.now());
    return state === "done" ? [] : [{ state, ms: Math.max(0, untilMs - atMs) }];
  });
  const byState = new Map();
  for (const { state, ms } of parts) byState.set(state, (byState.get(state) ?? 0) + ms);
  const total = [...byState.values()].reduce((sum, ms) => sum + ms, 0);
  if (total === 0) return [];
  const words = [...byState].map(([state, ms]) => `${state} ${durationText(ms)}`);
  const bar = svgBar({ parts: [...byState], total });
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", `Time in each state: ${words.join(", ")}`);
  const legend = element(
    "ul",
    "legend",
    ...[...byState].map(([state, ms]) =>
      element("li", `in-${state}`, element("span", "", state), ` ${durationText(ms)}`),
    ),
  );
  return [bar, legend];
}

/** Lengths are attributes: the policy lets no style in. */
function svgBar({ parts, total }) {
  const name = "http://www.w3.org/2000/svg";
  const bar = document.createElementNS(name, "svg");
  bar.setAttribute("class", "bar");
  bar.setAttribute("viewBox", "0 0 1000 10");
  bar.setAttribute("preserveAspectRatio", "none");
  // What took no time to speak of is still seen.
  const sizes = parts.map(([state, ms]) => [state, Math.max(ms / total, 0.006)]);
  const sum = sizes.reduce((all, [, size]) => all + size, 0);
  let from = 0;
  for (const [state, size] of sizes) {
    const part = document.createElementNS(name, "rect");
    const width = (size / sum) * 1000;
    for (const [key, value] of Object.entries({
      x: from,
      y: 0,
      width: Math.max(0, width - 2),
      height: 10,
      class: `in-${state}`,
    })) {
      part.setAttribute(key, String(value));
    }
    from += width;
    bar.append(part);
  }
  return bar;
}
