/** Adds Slack's names to the ids in a task. */
import { type Task, threadRefOf } from "@sekisho/verification/task/task.ts";
import { type FoundNames, formatThread, type Thread, type Wanted } from "./slack-names.ts";

export const noNames: FoundNames = { users: new Map(), channels: new Map(), links: new Map() };

/** Undefined for a slash command whose thread is not opened yet. */
function threadOf(task: Pick<Task, "message" | "threadRef">): Thread | undefined {
  if (task.message.command && task.threadRef === undefined) return undefined;
  const { channel, threadTs } = threadRefOf(task);
  return { channel, ts: threadTs };
}

export function listWantedNames(tasks: readonly Task[]): Required<Wanted> {
  return {
    users: tasks.map(({ message }) => message.user),
    channels: tasks.map(({ message }) => message.channel),
    threads: tasks.flatMap((task) => threadOf(task) ?? []),
  };
}

/** Each is undefined where Slack gave none. */
export type TaskNames = {
  userName: string | undefined;
  channelName: string | undefined;
  link: string | undefined;
};

export function namesOf({ task, names }: { task: Task; names: FoundNames }): TaskNames {
  const { message } = task;
  const thread = threadOf(task);
  return {
    userName: names.users.get(message.user),
    channelName: names.channels.get(message.channel),
    link: thread && names.links.get(formatThread(thread)),
  };
}

/** `#general (C012AB3CD)`, or the id alone. */
export function formatNamed(id: string, name: string | undefined): string {
  return name === undefined ? id : `${name} (${id})`;
}
