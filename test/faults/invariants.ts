/** What must hold after every run, whatever went wrong in it: each is one small function with one sentence. */
import type { ExecutionTask } from "../../lambdas/execution/host/execution-task.ts";
import { createAnswerText } from "../../lambdas/verification/slack/answer-text.ts";
import type { Task } from "../../lambdas/verification/task/task.ts";
import type { Asked } from "./people.ts";
import { secrets } from "./settings.ts";
import { agentsAnswer } from "./sim-agent.ts";
import type { Post } from "./sim-slack.ts";
import type { World } from "./world.ts";

/** One message with what became of it everywhere. */
export type Fate = {
  asked: Asked;
  record: Task | undefined;
  posts: readonly Post[];
  executed: ExecutionTask | undefined;
};

export type Ending = {
  world: World;
  fates: readonly Fate[];
  posts: readonly Post[];
  /** Messages that are still in a queue. */
  waiting: number;
  /** Nothing is left to happen. */
  isOver: boolean;
  /** The channel was gone: nobody could answer. */
  isExempt: boolean;
  /** Something went wrong in the Execution zone itself, so that an agent may have been lost. */
  isHostHit: boolean;
  /** Operations of the same story without a fault; undefined where this is that run. */
  usualOperations: number | undefined;
};

export type Violation = { invariant: string; detail: string };

type Invariant = { sentence: string; find: (ending: Ending) => string | undefined };

const answerText = createAnswerText({ locale: "en" });

/** More than this many times the operations of a run without faults, and this many more, is a storm. */
const operationsFactor = 3;
const operationsMore = 60;

const invariants: readonly Invariant[] = [
  {
    sentence: "Every accepted message has exactly one final answer in its thread.",
    find: ({ fates, isExempt }) =>
      isExempt ? undefined : firstOf(fates.filter(isOwed), (fate) => oddAnswer({ fate })),
  },
  {
    sentence: "No placeholder is left over.",
    find: ({ posts, isExempt }) =>
      isExempt
        ? undefined
        : firstOf(posts, ({ key, ts }) => (key?.part === 0 ? `the placeholder at ${ts}` : undefined)),
  },
  {
    sentence: "Nothing else of ours is in a thread.",
    find: ({ posts, fates }) =>
      firstOf(posts, (post) =>
        fates.some((fate) => fate.posts.includes(post)) ? undefined : `the post at ${post.ts}`,
      ),
  },
  {
    sentence: "The agent is started at most once for a request.",
    find: ({ world }) => firstOf([...world.starts], ([id, times]) => (times > 1 ? `${id} ${times} times` : undefined)),
  },
  {
    sentence: "Every task has ended, and nothing waits for nobody.",
    find: ({ fates, waiting, isOver }) => {
      if (!isOver) return "there is no end in sight";
      if (waiting > 0) return `${waiting} messages are left in a queue`;
      return firstOf(fates.filter(isOwed), ({ record }) =>
        record?.state === "done" && record.swept ? undefined : `the record says ${record?.state ?? "nothing"}`,
      );
    },
  },
  {
    sentence: "The record, the thread and the Execution zone's task agree.",
    find: ({ fates }) => firstOf(fates.filter(isOwed), disagreement),
  },
  {
    sentence: "A task fails only where the agent was lost.",
    find: ({ fates, world, isHostHit, isExempt }) => {
      if (isExempt || !world.story.isAllowed) return undefined;
      return firstOf(fates.filter(isOwed), ({ record, executed }) => {
        if (record?.outcome?.type !== "failed") return undefined;
        const isLost = isHostHit && executed?.outcome?.type === "failure" && executed.outcome.lost === true;
        return isLost ? undefined : `it failed: ${record.outcome.reason}`;
      });
    },
  },
  {
    sentence: "No secret is in a log line, a queue message or a record.",
    find: ({ world, fates }) => {
      const kept = [...world.lines, ...world.bodies, JSON.stringify(fates.map((fate) => [fate.record, fate.executed]))];
      const text = kept.join("\n");
      return firstOf(Object.entries(secrets), ([name, secret]) => (text.includes(secret) ? name : undefined));
    },
  },
  {
    sentence: "No text of a message is in a log line.",
    find: ({ world, fates }) => {
      const text = world.lines.join("");
      return firstOf(fates, ({ asked }) =>
        text.includes(asked.text) || text.includes(agentsAnswer(asked)) ? asked.requestId : undefined,
      );
    },
  },
  {
    sentence: "The number of operations is bounded.",
    find: ({ world: { steps }, usualOperations }) => {
      if (usualOperations === undefined) return undefined;
      const most = operationsFactor * usualOperations + operationsMore;
      return steps.length > most ? `${steps.length} operations, where ${usualOperations} are usual` : undefined;
    },
  },
];

export function violationsOf(ending: Ending): Violation[] {
  return invariants.flatMap(({ sentence, find }) => {
    const detail = find(ending);
    return detail === undefined ? [] : [{ invariant: sentence, detail }];
  });
}

function isOwed({ asked, record }: Fate): boolean {
  return asked.isTaken || record !== undefined;
}

/** The parts of the answer, each once, with their own texts. */
function oddAnswer({ fate: { record, posts, asked } }: { fate: Fate }): string | undefined {
  const shown = posts.filter(({ key }) => (key?.part ?? 0) > 0).map(({ text }) => text);
  const outcome = record?.outcome ?? { type: "answer", text: agentsAnswer(asked) };
  const wanted = record === undefined ? [] : answerText.parts({ ...record, outcome });
  if (JSON.stringify(shown) === JSON.stringify(wanted)) return undefined;
  return `${shown.length} posts where ${wanted.length} are due: ${JSON.stringify(shown)}`;
}

/**
 * An answer is forgotten once it was delivered: then the host's task is completed. A refusal never reaches the host. A
 * failure says what the host's task says, or, where nobody could tell, that it may have run.
 */
function disagreement({ record, executed }: Fate): string | undefined {
  const state = executed?.state ?? "nothing";
  const outcome = record?.outcome;
  const said = outcome?.type === "failed" ? outcome.reason : (outcome?.type ?? "answer");
  const fits = fitting[said];
  if (fits?.includes(state) !== false) return undefined;
  return `the record says ${said}, the host says ${state}`;
}

const fitting: Partial<Record<string, readonly string[]>> = {
  answer: ["completed"],
  refused: ["nothing"],
  too_old: ["nothing"],
  execution_failed: ["failed"],
  canceled: ["canceled"],
  timeout: ["failed", "canceled", "nothing"],
  unavailable: ["nothing"],
  internal: ["nothing"],
};

function firstOf<T>(items: readonly T[], find: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
