/** The timeline of a task as lines for a terminal. */
import { styleText } from "node:util";
import { sanitizeLine } from "../../../lambdas/shared/untrusted-input.ts";
import { alignCells, formatTable } from "../table.ts";
import { formatTime } from "../tasks/text.ts";
import type { Picture } from "./picture.ts";
import type { PictureStep, PictureZone } from "./picture-step.ts";

/** In the order in which a task passes them. Each is indented a little more. */
const colors = {
  slack: "magenta",
  verification: "blue",
  transport: "cyan",
  execution: "yellow",
  agent: "green",
} as const satisfies Record<PictureZone, unknown>;
const zones = Object.keys(colors);
const leastGapMs = 1000;

export function timelineLines({ picture, color }: { picture: Picture; color: boolean }): string[] {
  const paint = (style: Parameters<typeof styleText>[0], text: string) =>
    color ? styleText(style, text, { validateStream: false }) : text;
  const steps = foldPolls(picture.steps);
  const rows = alignCells(steps.map((step) => toCells({ step, startedAtMs: picture.startedAtMs })));
  const lines = rows.flatMap(([time = "", zone = "", title = "", took = "", detail = ""], at) => {
    const step = steps[at];
    if (step === undefined) return [];
    const gap = gapText({ before: steps[at - 1], step });
    const shownTitle = step.failed ? paint("red", title) : title;
    const row = [
      paint("dim", time),
      paint(colors[step.zone], zone),
      shownTitle,
      took,
      paint("dim", detail),
    ].join("  ");
    return [
      ...(gap === undefined ? [] : [paint("dim", `${"⋮".padStart(time.length)}  ${gap}`)]),
      row.trimEnd(),
    ];
  });
  return [...headLines(picture), "", ...lines];
}

function toCells({ step, startedAtMs }: { step: PictureStep; startedAtMs: number }): string[] {
  const { atMs, zone, title, durationMs, detail } = step;
  return [
    `+${((atMs - startedAtMs) / 1000).toFixed(2)} s`.padStart(10),
    `${" ".repeat(zones.indexOf(zone))}${zone}`,
    sanitizeLine(title),
    durationMs === undefined ? "" : formatLength(durationMs).padStart(7),
    Object.entries(detail)
      .map(([name, value]) => sanitizeLine(`${name}=${value}`))
      .join(" "),
  ];
}

/** Polls in a row become one step, which lasts until the end of the last one. A failed poll stays. */
export function foldPolls(steps: readonly PictureStep[]): PictureStep[] {
  const folded: PictureStep[] = [];
  let polls = 0;
  for (const step of steps) {
    const first = folded.at(-1);
    polls = step.title === "get_task" && step.failed !== true ? polls + 1 : 0;
    if (polls < 2 || first === undefined) folded.push(step);
    else {
      const durationMs = step.atMs + (step.durationMs ?? 0) - first.atMs;
      folded[folded.length - 1] = {
        ...first,
        title: `get_task, ${polls} times`,
        detail: {},
        durationMs,
      };
    }
  }
  return folded;
}

function headLines({
  requestId,
  taskId,
  traceId,
  state,
  outcome,
  destination,
  startedAtMs,
  endedAtMs,
}: Picture) {
  const fields = [
    ["state", outcome === undefined ? state : `${state}: ${outcome}`],
    ["destination", destination],
    ["task id", taskId],
    ["trace id", traceId],
    ["began", formatTime(startedAtMs)],
    ["took", endedAtMs === undefined ? undefined : formatLength(endedAtMs - startedAtMs)],
  ];
  const known = fields.flatMap(([name, value]) =>
    value === undefined ? [] : [[`  ${name}`, sanitizeLine(value)]],
  );
  return [`Task ${requestId}`, ...formatTable(known)];
}

/** A call is shown when it begins, everything else when it is over. */
function gapText({
  before,
  step,
}: {
  before: PictureStep | undefined;
  step: PictureStep;
}): string | undefined {
  if (before === undefined) return undefined;
  const endedAtMs = before.atMs + (before.zone === "transport" ? (before.durationMs ?? 0) : 0);
  const gapMs = step.atMs - endedAtMs;
  return gapMs < leastGapMs ? undefined : `${formatLength(gapMs)} later`;
}

/** `43 ms`, `3.03 s`, `2 min 5 s`, `1 h 3 min`. */
function formatLength(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(2)} s`;
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  return minutes < 60
    ? `${minutes} min ${seconds % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
