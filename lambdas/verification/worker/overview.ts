/** Reads what the bot says about itself to one person (`slack/messages/overview.ts`), and publishes it on the App Home. */
import type { Config } from "@sekisho/config/schema.ts";
import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import type { Actor } from "../gate/border.ts";
import type { Gate } from "../gate/gate.ts";
import type { SlackApi } from "../slack/api/slack.ts";
import { homeBlocks, maxHomeTasks } from "../slack/messages/home.ts";
import type { Overview, OverviewRoute, OwnTask } from "../slack/messages/overview.ts";
import type { TaskText } from "../slack/messages/task-text.ts";
import type { Installation } from "../task/messages.ts";
import { personKeyOf, type Task, threadRefOf } from "../task/task.ts";

type Person = { installation: Installation; actor: Actor; requestId: string; signal: AbortSignal };

/** `canceling` is a task that was just asked to end, which its record may not say yet. Rejects if the store or Slack is unavailable. */
export type ReadOverview = (
  person: Person & { canceling?: string | undefined },
) => Promise<Overview>;

type Options = {
  config: Pick<Config, "slack" | "routes">;
  contact: string | undefined;
  store: Pick<TaskStore<Task>, "list">;
  gate: Pick<Gate, "accessOf">;
  text: Pick<TaskText, "sessionTitle">;
};

export function createReadOverview({ config, contact, store, gate, text }: Options): ReadOverview {
  const { assistant, command } = config.slack;

  async function listTasks({
    installation,
    actor: { user },
    canceling,
  }: Parameters<ReadOverview>[0]) {
    const key = personKeyOf({ team: installation.team, user });
    const { items, cursor } = await store.list({ index: "principal", key, limit: maxListed });
    // A message that is not accepted yet may be no task.
    const tasks = items.filter(({ call, outcome }) => call !== undefined && outcome === undefined);
    const ownTasks = tasks.map((task) =>
      toOwnTask({ task, text, isCanceling: task.id === canceling }),
    );
    return {
      tasks: ownTasks.slice(0, maxHomeTasks),
      hasMoreTasks: ownTasks.length > maxHomeTasks || cursor !== undefined,
    };
  }

  return async (request) => {
    const { installation, actor, requestId, signal } = request;
    const routes = config.routes.filter(
      ({ team }) => team === undefined || team === installation.team,
    );
    const channels = [...new Set(routes.flatMap(({ channel }) => channel ?? []))];
    const [{ mayAsk, rules, quota, channels: usableChannels }, ownTasks] = await Promise.all([
      gate.accessOf({ installation, actor, channels, requestId, signal }),
      listTasks(request),
    ]);
    const usableRoutes = routes.flatMap(
      ({ word, channel, destination: [destination] }): OverviewRoute[] =>
        destination === undefined || (channel !== undefined && !usableChannels.includes(channel))
          ? []
          : [{ word, channel, destination }],
    );
    return {
      mayAsk,
      contact,
      description: assistant?.description,
      command: command?.name,
      prompts: assistant?.prompts ?? [],
      routes: usableRoutes,
      rules,
      quota,
      ...ownTasks,
    };
  };
}

/** A few more than are shown, because some of them may be no tasks. */
const maxListed = 2 * maxHomeTasks;

function toOwnTask({
  task,
  text,
  isCanceling,
}: {
  task: Task;
  text: Options["text"];
  isCanceling: boolean;
}): OwnTask {
  const { channel } = threadRefOf(task);
  const activity = isCanceling ? "canceling" : toActivity(task);
  return {
    requestId: task.id,
    text: text.sessionTitle(task) ?? "",
    channel,
    askedAtMs: task.receivedAtMs,
    activity,
  };
}

function toActivity({ state, cancelReason, question }: Task): OwnTask["activity"] {
  if (cancelReason !== undefined) return "canceling";
  if (state === "queued" || state === "received") return "queued";
  return state === "asking" && question?.answer === undefined ? "asking" : "working";
}

/** Far more than Slack usually takes. */
const timeoutMs = 5000;

export type PublishHome = (person: Person & { canceling?: string | undefined }) => Promise<void>;

/** Best effort: a failure is logged, and the person opens the tab again. */
export function createPublishHome({
  readOverview,
  gate,
  slack,
  log,
  now,
}: {
  readOverview: ReadOverview;
  gate: Pick<Gate, "localeOf">;
  slack: Pick<SlackApi, "publishHome">;
  log: Log;
  now: () => number;
}): PublishHome {
  return async (request) => {
    const { installation, actor, canceling, requestId } = request;
    const { user } = actor;
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(timeoutMs)]);
    const person = { installation, user, requestId, signal };
    try {
      const [overview, locale] = await Promise.all([
        readOverview({ installation, actor, canceling, requestId, signal }),
        gate.localeOf(person),
      ]);
      await slack.publishHome({
        ...person,
        blocks: homeBlocks({ overview, locale, nowMs: now() }),
      });
    } catch (error) {
      log.warn("home_not_published", {
        request_id: requestId,
        user,
        cause_kind: errorKind(error),
      });
    }
  };
}
