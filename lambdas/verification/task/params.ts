/** The params of `execute_task`. */
import { hasMoreCharacters, maxTextLength } from "@sekisho/contracts/limits.ts";
import type { Context } from "./events.ts";
import { destinationOf, matchRoute, type Policy, withCall } from "./routing.ts";
import type { Task } from "./task.ts";

/** Adds the params of `execute_task`. Repetitions send the same params except for the remaining time. */
export function withParams(task: Task, gatheredContext: Context, policy: Policy): Task {
  const { history = [], attachments = [], context, names = {}, leftOut = [] } = gatheredContext;
  const { message, id, threadRef, call } = task;
  const threadTs = threadRef?.threadTs ?? message.threadTs;
  const params = {
    channel: message.channel,
    text: withLeftOut(policy.addNames(readAgentText(message, policy), names), leftOut),
    ...(threadTs === undefined ? {} : { thread_ts: threadTs }),
    team_id: message.team,
    user_id: message.user,
    correlation_id: id,
    ...(attachments.length === 0 ? {} : { attachments }),
    ...(history.length === 0 ? {} : { history }),
    ...(context === undefined ? {} : { context }),
    session_id: call?.sessionId,
    // A destination that was removed from the configuration has a deadline of 0, with which the record could not be parsed again.
    timeout_ms: Math.max(1, destinationOf(task, policy).deadlineMs),
    callback: true,
  };
  return withCall(task, { params });
}

const maxNamedFiles = 10;

/** Names the files that the agent does not get in a last line of the text, unless the text leaves no room for it. */
function withLeftOut(text: string, names: readonly string[]): string {
  if (names.length === 0) return text;
  const more = names.length - maxNamedFiles;
  const list = [...names.slice(0, maxNamedFiles), ...(more > 0 ? [`${more} more`] : [])].join(", ");
  const whole = `${text}\n\n(Not attached: ${list})`.trimStart();
  return hasMoreCharacters(whole, maxTextLength) ? text : whole;
}

/** Returns the text that the agent gets: without the word of its route, unless the route keeps it. */
export function readAgentText(message: Task["message"], policy: Policy): string {
  return matchRoute(policy.routesOf(message))?.text ?? message.text;
}
