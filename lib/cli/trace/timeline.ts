/** The picture as lines for a terminal: when, in which zone, what, how long. */
import { styleText } from "node:util";
import { sanitizeLine } from "../../../lambdas/shared/untrusted-input.ts";
import { formatTime } from "../tasks/text.ts";
import { foldPolls } from "./fold-polls.ts";
import type { Picture } from "./picture.ts";
import type { PictureStep, PictureZone } from "./picture-step.ts";

/** In the order in which a task passes them; each begins a little further to the right. */
const zones = ["slack", "verification", "transport", "execution", "agent"] as const satisfies PictureZone[];
const colors = {
  slack: "magenta",
  verification: "blue",
  transport: "cyan",
  execution: "yellow",
  agent: "green",
} as const satisfies Record<PictureZone, unknown>;
const zoneWidth = Math.max(...zones.map((zone, indent) => indent + zone.length));
/** What takes as long as that without a word is shown as a gap. */
const leastGapMs = 1000;

export function timelineLines({ picture, color }: { picture: Picture; color: boolean }): string[] {
  const paint = (style: Parameters<typeof styleText>[0], text: string) =>
    color ? styleText(style, text, { validateStream: false }) : text;
  const steps = foldPolls(picture.steps).map((step) => ({ ...step, title: sanitizeLine(step.title) }));
  const times = steps.map(({ atMs }) => sinceText(atMs - picture.startedAtMs));
  const timeWidth = longestOf(times);
  const titleWidth = Math.min(60, longestOf(steps.map(({ title }) => title)));
  const rows = steps.flatMap((step, at) => {
    const { zone, title, durationMs, failed } = step;
    const time = paint("dim", times[at]?.padStart(timeWidth) ?? "");
    const place = paint(colors[zone], `${" ".repeat(zones.indexOf(zone))}${zone}`.padEnd(zoneWidth));
    const what = title.padEnd(titleWidth);
    const took = (durationMs === undefined ? "" : lengthText(durationMs)).padStart(9);
    const row = `  ${time}  ${place}  ${failed ? paint("red", what) : what} ${took}  ${paint("dim", detailText(step))}`;
    return [...gapLines({ before: steps[at - 1], step, timeWidth }).map((line) => paint("dim", line)), row.trimEnd()];
  });
  return [...headLines(picture), "", ...rows];
}

/** There may be more of them than a function takes arguments. */
function longestOf(texts: readonly string[]): number {
  return texts.reduce((longest, { length }) => Math.max(longest, length), 0);
}

function headLines({ requestId, taskId, traceId, state, outcome, destination, startedAtMs, endedAtMs }: Picture) {
  const fields: [string, string | undefined][] = [
    ["state", outcome === undefined ? state : `${state}: ${outcome}`],
    ["destination", destination],
    ["task id", taskId],
    ["trace id", traceId],
    ["began", formatTime(startedAtMs)],
    ["took", endedAtMs === undefined ? undefined : lengthText(endedAtMs - startedAtMs)],
  ];
  const lines = fields.flatMap(([name, value]) =>
    value === undefined ? [] : [`  ${name.padEnd(12)} ${sanitizeLine(value)}`],
  );
  return [`Task ${requestId}`, ...lines];
}

function gapLines({
  before,
  step,
  timeWidth,
}: {
  before: PictureStep | undefined;
  step: PictureStep;
  timeWidth: number;
}): string[] {
  const gapMs = before === undefined ? 0 : step.atMs - endOf(before);
  return gapMs < leastGapMs ? [] : [`  ${"⋮".padStart(timeWidth)}  ${lengthText(gapMs)} later`];
}

/** A call is told where it begins, all else when it is over. */
function endOf({ atMs, zone, durationMs = 0 }: PictureStep): number {
  return zone === "transport" ? atMs + durationMs : atMs;
}

function detailText({ detail }: PictureStep): string {
  return Object.entries(detail)
    .map(([name, value]) => sanitizeLine(`${name}=${value}`))
    .join(" ");
}

function sinceText(ms: number): string {
  return `+${(ms / 1000).toFixed(2)} s`;
}

/** `43 ms`, `3.03 s`, `2 min 5 s`, `1 h 3 min`. */
function lengthText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(2)} s`;
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
