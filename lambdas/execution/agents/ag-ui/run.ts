/** Follows the events of the requested run, and checks their order. */
import { maxResultBytes } from "@sekisho/contracts/limits.ts";
import type { TaskStep } from "@sekisho/contracts/methods.ts";
import { createEventError } from "../remote-error.ts";
import type { AgUiEvent, EventOf, Interrupt } from "./events.ts";
import { readLegacyInterrupt } from "./legacy-interrupt.ts";
import { createMessageReader, joinTexts, type RunMessages } from "./messages.ts";
import { createPlan } from "./plan.ts";
import { createSharedState, type SharedState } from "./shared-state.ts";

export type Run = RunMessages & {
  /** How the run ended, and undefined until then. An error may follow the end, and replaces it. */
  end: EventOf<"RUN_FINISHED"> | "error" | undefined;
  snapshot: EventOf<"MESSAGES_SNAPSHOT">["messages"] | undefined;
  /** Undefined if it is too large to be sent again. */
  state: unknown;
  legacyInterrupts: Interrupt[];
};

/** The part of an event that is reported. */
export type News = {
  hasText?: boolean;
  toolName?: string;
  steps?: readonly TaskStep[];
  /** The files in the result of a tool. */
  parts?: readonly unknown[];
};

export type RunReader = {
  run: Run;
  /** Throws a RemoteError if the event cannot come here. */
  add(event: AgUiEvent): News;
  readText(): string;
  /** True if the host rejects the answer as too large, so that the rest of the stream is not needed. */
  isTooLarge(): boolean;
};

/** More than a question can ask. */
const maxLegacyInterrupts = 100;

/** An answer that ended before one of these came may not be whole. */
const answerEvents = /^(?:TEXT|TOOL|MESSAGES)_/;

/** `runId` is the requested run, and `state` what it begins with. A stream may repeat earlier ones before it, which are not looked at. */
export function createRunReader({ runId, state }: { runId: string; state: unknown }): RunReader {
  const run: Run = {
    ...{ end: undefined, messages: [], isWhole: true, snapshot: undefined, state },
    ...{ toolNames: new Map(), openCalls: new Set(), legacyInterrupts: [] },
  };
  const messages = createMessageReader(run);
  const plan = createPlan();
  const shared = createSharedState(run);
  let activeRun: string | undefined;
  /** The run to which a RUN_ERROR belongs. Without any, the requested one could not begin. */
  let latestRun = runId;

  /** Returns false for an event that is not about the beginning or end of a run. */
  function addRunEvent(event: AgUiEvent): boolean {
    if (event.type === "RUN_ERROR") {
      if (latestRun === runId) run.end = "error";
      activeRun = undefined;
    } else if (event.type === "RUN_STARTED") {
      if (activeRun !== undefined) throw createEventError("RUN_STARTED: a run is active");
      if (event.runId === runId && run.end !== undefined)
        throw createEventError("RUN_STARTED.runId: the run is over");
      activeRun = event.runId;
      latestRun = event.runId;
    } else if (event.type === "RUN_FINISHED") {
      // Its runId is not compared: LangGraph's server writes an id of its own there.
      if (activeRun === undefined) throw createEventError("RUN_FINISHED: no run is active");
      if (activeRun === runId) {
        messages.checkClosed();
        shared.settle();
        run.end = event;
      }
      activeRun = undefined;
    } else return false;
    return true;
  }

  return {
    run,
    readText: () => joinTexts(run.messages),
    isTooLarge: () => messages.textLength() > maxResultBytes,
    add(event) {
      if (addRunEvent(event)) return {};
      const isHarmless = run.end !== undefined && !answerEvents.test(event.type);
      if (activeRun === undefined && !isHarmless)
        throw createEventError(`${event.type}: no run is active`);
      if (activeRun !== runId) return {};
      const news = addShared({ run, shared, event }) ?? plan.add(event) ?? messages.add(event);
      if (run.end !== undefined) shared.settle();
      return news;
    },
  };
}

/** Returns undefined for an event that is about something else than the run as a whole. */
function addShared(request: { run: Run; shared: SharedState; event: AgUiEvent }): News | undefined {
  const { run, shared, event } = request;
  switch (event.type) {
    case "MESSAGES_SNAPSHOT":
      run.snapshot = event.messages;
      return {};
    case "STATE_SNAPSHOT":
      shared.replace(event.snapshot);
      return {};
    case "STATE_DELTA":
      shared.patch(event.delta);
      return {};
    case "CUSTOM":
      if (event.name === "on_interrupt" && run.legacyInterrupts.length < maxLegacyInterrupts)
        run.legacyInterrupts.push(readLegacyInterrupt(event));
      return {};
    default:
      return undefined;
  }
}
