/** Groups the steps of a task by state and zone, and sums up where its time went. */
import type { TimelineStep } from "./timeline-step.ts";

/** One step, or the request and the response of a call. Repetitions, such as polls, share a row. */
export type TimelineRow = { title: string; count: number; steps: TimelineStep[]; tookMs: number };

/** The rows of one zone while the task was in one state. `tookMs` is the time that this zone took. For a row it is that of its calls. */
export type TimelineGroup = { zone: string; state: string; rows: TimelineRow[]; tookMs: number };

/** `good`: answered. `stopped`: refused or canceled. */
export type TimelineOutcome = "open" | "good" | "bad" | "stopped";

export type TimelineSum = {
  outcome: TimelineOutcome;
  state: string;
  /** Until the outcome was posted. What comes later only tidies up. */
  tookMs: number;
  /** The parts of that time, by who took it. */
  parts: { name: string; tookMs: number }[];
};

export function groupSteps(steps: readonly TimelineStep[]): {
  groups: TimelineGroup[];
  sum: TimelineSum;
} {
  const groups: TimelineGroup[] = [];
  const openCalls = new Map<string, { row: TimelineRow; group: TimelineGroup; atMs: number }>();
  const spentMs = new Map(parties.map((name) => [name, 0]));
  let state = "received";
  let groupsOfState: TimelineGroup[] = [];
  let endMs = steps[0]?.atMs ?? 0;
  let previousMs = endMs;

  for (const step of steps) {
    const tookMs = step.atMs - previousMs;
    previousMs = step.atMs;
    const call = step.call === undefined ? undefined : openCalls.get(step.call);
    const party = partyOf(step, { state, isResponse: call !== undefined });
    const ownMs = party === (zoneParties[step.zone] ?? "your agent") ? tookMs : 0;
    if (state !== "done") {
      spentMs.set(party, (spentMs.get(party) ?? 0) + tookMs);
      endMs = step.atMs;
    }
    const newState = stateOf(step) ?? state;
    if (newState !== state) groupsOfState = [];
    state = newState;
    if (call !== undefined) {
      const { row, group, atMs } = call;
      row.steps.push(step);
      row.tookMs += step.atMs - atMs;
      // A response may say how far the agent is.
      if (row.count === 1 && step.title.startsWith(`${row.title}:`)) row.title = step.title;
      group.tookMs += ownMs;
      openCalls.delete(step.call ?? "");
      continue;
    }
    let group = groupsOfState.find(({ zone }) => zone === step.zone);
    if (group === undefined) {
      group = { zone: step.zone, state, rows: [], tookMs: 0 };
      groupsOfState.push(group);
      groups.push(group);
    }
    const title = titleOf(step);
    let row = group.rows.find((each) => each.title === title);
    if (row === undefined) {
      row = { title, count: 0, steps: [], tookMs: 0 };
      group.rows.push(row);
    }
    row.count += 1;
    row.steps.push(step);
    group.tookMs += ownMs;
    if (step.call !== undefined) openCalls.set(step.call, { row, group, atMs: step.atMs });
  }
  const parts = [...spentMs].map(([name, tookMs]) => ({ name, tookMs }));
  const sum = {
    outcome: outcomeOf(steps, state),
    state,
    tookMs: endMs - (steps[0]?.atMs ?? endMs),
    parts: parts.filter(({ tookMs }) => tookMs >= 5),
  };
  return { groups, sum };
}

const arrow = " → ";

/** A step of the Verification zone names the state that it led to. */
function stateOf({ zone, title }: TimelineStep): string | undefined {
  return zone === "verification" ? title.split(arrow)[1] : undefined;
}

function titleOf(step: TimelineStep): string {
  return stateOf(step) === undefined ? step.title : (step.title.split(arrow)[0] ?? step.title);
}

const parties = ["your agent", "Slack", "Verification zone", "the reply"] as const;

/** Who works in a zone. The others are the agent's. */
const zoneParties: Readonly<Record<string, (typeof parties)[number]>> = {
  slack: "Slack",
  verification: "Verification zone",
};

/** Who took the time before a step. The agent works while the task waits for it, whatever the step says. */
function partyOf(
  { zone }: TimelineStep,
  { state, isResponse }: { state: string; isResponse: boolean },
): (typeof parties)[number] {
  if (state === "asking") return "the reply";
  if (zone === "slack") return "Slack";
  const isAgent = state === "sent" || state === "waiting";
  return isAgent || isResponse || zone === "agent" ? "your agent" : "Verification zone";
}

function outcomeOf(steps: readonly TimelineStep[], state: string): TimelineOutcome {
  if (state !== "done") return "open";
  if (steps.some(({ stopped }) => stopped)) return "stopped";
  return steps.some(({ failed }) => failed) ? "bad" : "good";
}
