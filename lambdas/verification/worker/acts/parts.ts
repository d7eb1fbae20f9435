/** The options of the families of acts, and the form of their tables. */
import type { Config } from "@sekisho/config/schema.ts";
import type { WorkerDestination } from "../../destinations.ts";
import type { Files } from "../../files/files.ts";
import type { Gate } from "../../gate/gate.ts";
import type { FindEmail } from "../../lookups/person-email.ts";
import type { FindTaskContext } from "../../lookups/task-context.ts";
import type { SlackApi } from "../../slack/api/slack.ts";
import type { TaskText } from "../../slack/messages/task-text.ts";
import type { Act } from "../../task/events.ts";
import type { Task } from "../../task/task.ts";
import type { ExecutionCalls } from "../calls.ts";
import type { Indicators } from "../indicators.ts";
import type { ReadOverview } from "../overview.ts";
import type { Notify, Questions } from "../questions.ts";
import type { ActRequest, ActResult } from "../step/step.ts";
import type { Threads } from "../threads.ts";
import type { InTransfer } from "../transfers.ts";

/** Settings that choose what else of the thread the agent gets, beside the words of people and its own answers. */
export type ContextSettings = Pick<Config["slack"]["context"], "files" | "otherApps">;

export type ActOptions = {
  slack: SlackApi;
  gate: Gate;
  notify: Notify;
  files: Files;
  findTaskContext: FindTaskContext;
  /** Absent if no destination gets e-mail addresses. */
  findEmail: FindEmail | undefined;
  contextSettings: ContextSettings;
  text: TaskText;
  threads: Threads;
  /** By request id. */
  taskOf: (requestId: string) => Promise<Task | undefined>;
  questions: Questions;
  readOverview: ReadOverview;
  indicators: Indicators;
  /** True if a partial answer is shown in a native Slack stream. */
  streaming: boolean;
  destinations: ReadonlyMap<string, WorkerDestination>;
  /** How many tasks the process handles at once. */
  slots: number;
  newId: () => string;
  now?: () => number;
  /** Aborts when the process stops. */
  stopping?: AbortSignal | undefined;
};

/** The options with what the acts of one process share. */
export type ActParts = ActOptions & {
  now: () => number;
  calls: ExecutionCalls;
  inTransfer: InTransfer;
};

type ActType = Act["type"];

/** The acts of one family, by their types. */
export type ActFamily<Types extends ActType> = {
  [T in Types]: (request: ActRequest<Extract<Act, { type: T }>>) => Promise<ActResult>;
};
