/** Tells the author of an agent what went wrong in it, and at which line. A Slack user reads fixed words instead. */
import { inspect, types } from "node:util";
import {
  type Agent,
  AgentResultError,
  runAgent,
  type TaskUpdate,
} from "@sekisho/execution/agents/agent.ts";
import { formatFile, formatPlace, type Place } from "@sekisho/runtime/stack-frames.ts";
import { isVisible } from "@sekisho/runtime/visible-text.ts";
import { describeProblem } from "./describe-update.ts";
import { authorsFrames, codeFrame, locate } from "./source-place.ts";

/** The author's frames are often below those of packages. */
const stackDepth = 50;
const maxCauses = 5;

type Reporting = {
  agent: Agent;
  /** The agent's file. Undefined for a built-in agent. */
  file?: string | undefined;
  /** Gets a text of several lines, which may hold anything that the agent threw or yielded. */
  show: (text: string) => void;
};

/**
 * The same agent. `show` gets each error of it, each wrong update and an end without an answer, but nothing after the host stopped it. The
 * host treats all of them as before.
 */
export function reportAgent({ agent, file, show }: Reporting): Agent {
  Error.stackTraceLimit = Math.max(Error.stackTraceLimit, stackDepth);
  const name = file === undefined ? "The agent" : formatFile(file);
  const { feedback } = agent;
  async function* run(...[task, context]: Parameters<Agent>): AsyncGenerator<TaskUpdate> {
    const report = (lines: readonly string[], headline = "The agent failed") => {
      if (!context.signal.aborted)
        show([`${headline} in request ${context.requestId}:`, ...lines, ""].join("\n"));
    };
    let callResult: unknown;
    const observedAgent: Agent = (...params) => {
      const result = agent(...params);
      callResult = result;
      return result;
    };
    let yields = 0;
    // The task may have files of the runs before its questions.
    let hasArtifact = task.answers.length > 0;
    let isEnded = false;
    try {
      for await (const update of runAgent(observedAgent, task, context)) {
        yields += 1;
        const problem: string | undefined = isEnded
          ? undefined
          : (describeProblem(update) ?? blankProblem(update, hasArtifact));
        const isText = types.isPromise(callResult);
        const isProgress = Object(update).type === "progress";
        if (problem !== undefined)
          report(
            isText
              ? [`${name}: ${problem}`]
              : describeYield({ place: locate(callResult), name, yields, problem }),
            isProgress ? "A part of the progress was left out" : undefined,
          );
        hasArtifact ||= Object(update).type === "artifact";
        isEnded ||=
          (problem !== undefined && !isProgress) || endTypes.includes(Object(update).type);
        yield update;
      }
    } catch (error) {
      report(
        error instanceof AgentResultError
          ? formatAt(locate(agent), describeResult(error.returned))
          : describeError(error),
        isEnded ? "The agent failed after its last update" : undefined,
      );
      throw error;
    }
    if (!isEnded) report(describeMissingEnd({ place: locate(agent), name, yields }));
  }
  if (feedback === undefined) return run;
  return Object.assign(run, {
    async feedback(...[vote]: Parameters<typeof feedback>) {
      try {
        await feedback(vote);
      } catch (error) {
        show(["The agent's function feedback failed:", ...describeError(error), ""].join("\n"));
        throw error;
      }
    },
  });
}

const endTypes: readonly unknown[] = ["answer", "question", "failure"];

function blankProblem(update: TaskUpdate, hasArtifact: boolean): string | undefined {
  const isBlank = update.type === "answer" && !isVisible(update.text) && !hasArtifact;
  return isBlank ? "the answer is blank, and there is no artifact" : undefined;
}

/** `returned` is what an agent returned that is neither a text nor a generator. */
function describeResult(result: unknown): string {
  const type = Array.isArray(result) ? "array" : typeof result;
  const isNothing = result === null || result === undefined;
  const what = isNothing ? String(result) : `${/^[aeiou]/.test(type) ? "an" : "a"} ${type}`;
  return `the agent returned ${what}. An agent is an async generator (async function*) that yields updates, or an async function that returns a string.`;
}

type Yield = { place: Place | undefined; name: string; yields: number; problem: string };

function describeYield({ place, name, yields, problem }: Yield): string[] {
  if (place === undefined) return [`yield ${yields} of ${name}: ${problem}`];
  return [
    `yield ${yields} of ${formatFile(place.file)}:${place.line}: ${problem}`,
    ...codeFrame(place),
  ];
}

function describeMissingEnd({
  place,
  name,
  yields,
}: {
  place: Place | undefined;
  name: string;
  yields: number;
}) {
  const count = yields === 1 ? "1 yield" : `${yields} yields`;
  const text = `the agent ended after ${count} without an answer. Its last yield must be an answer, a question or a failure. What a generator returns is ignored.`;
  return [`${place === undefined ? name : formatPlace(place)}: ${text}`];
}

function formatAt(place: Place | undefined, text: string): string[] {
  return place === undefined ? [text] : [`${formatPlace(place)}: ${text}`, ...codeFrame(place)];
}

/** The message, the line in the author's code, and the author's own frames. The whole stack if none of them is the author's. */
export function describeError(error: unknown): string[] {
  if (!(error instanceof Error))
    return [`It threw ${inspect(error)}, which is not an Error and has no stack.`];
  const frames = authorsFrames(error.stack ?? "");
  const [place] = frames;
  const lines = formatAt(place, `${error.name}: ${error.message}`);
  const stack =
    place === undefined
      ? (error.stack ?? "").split("\n").filter((line) => line.startsWith("    at "))
      : frames.map((frame) => `    at ${frame.name ?? "(anonymous)"} (${formatPlace(frame)})`);
  return [...lines, ...stack, ...causesOf(error)];
}

function causesOf(error: Error): string[] {
  const lines: string[] = [];
  let at: unknown = error;
  for (let depth = 0; depth < maxCauses && at instanceof Error && at.cause !== undefined; depth++) {
    at = at.cause;
    lines.push(`Cause: ${at instanceof Error ? `${at.name}: ${at.message}` : inspect(at)}`);
    // Node leaves the message of such an error empty.
    if (at instanceof AggregateError)
      lines.push(...at.errors.map((each) => `  ${String(Object(each).message ?? each)}`));
  }
  return lines;
}
