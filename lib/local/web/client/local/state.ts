/** The state of the local page: a reducer over the events of `/local/events`. */
import type {
  Channel,
  EphemeralView,
  LocalChange,
  LocalEvent,
  MessageView,
  ModalView,
  Person,
  Prompt,
} from "../../local-events.ts";
import type { TimelineStep } from "../../timeline-step.ts";

type ById<T> = ReadonlyMap<string, T>;

export type LocalState = {
  people: readonly Person[];
  channels: readonly Channel[];
  /** Example messages, for a bot that suggests no prompts. */
  examples: readonly Prompt[];
  /** Tasks of later messages have all their steps. */
  stepsSince: string;
  messages: ById<MessageView>;
  ephemeralMessages: ById<EphemeralView>;
  /** The status that the bot shows, by thread. */
  statuses: ById<string>;
  /** By channel. */
  prompts: ById<readonly Prompt[]>;
  /** By person. */
  modals: ById<ModalView>;
  /** By request id. */
  steps: ById<readonly TimelineStep[]>;
  /** The request whose timeline is shown, by channel. */
  chosen: ById<string>;
};

export const emptyState: LocalState = {
  people: [],
  channels: [],
  examples: [],
  stepsSince: "0",
  messages: new Map(),
  ephemeralMessages: new Map(),
  statuses: new Map(),
  prompts: new Map(),
  modals: new Map(),
  steps: new Map(),
  chosen: new Map(),
};

export type LocalAction = LocalEvent | { type: "choose"; channel: string; requestId: string };

export function reduce(state: LocalState, action: LocalAction): LocalState {
  switch (action.type) {
    case "reset": {
      const { type, changes, ...lists } = action;
      return changes.reduce(applyChange, { ...emptyState, ...lists });
    }
    case "choose":
      return { ...state, chosen: put(state.chosen, action.channel, action.requestId) };
    default:
      return applyChange(state, action);
  }
}

export function threadKey({ channel, ts }: { channel: string; ts: string }): string {
  return `${channel}/${ts}`;
}

function applyChange(state: LocalState, change: LocalChange): LocalState {
  switch (change.type) {
    case "message": {
      const { message } = change;
      const { channel, requestId, threadTs, author } = message;
      const key = threadKey(message);
      // A new question selects its task, and so does the thread that a slash command opens. A change such as a reaction does not.
      const isQuestion = author.kind === "person" || threadTs === undefined;
      const isChosen = requestId !== undefined && isQuestion && !state.messages.has(key);
      return {
        ...state,
        messages: put(state.messages, key, message),
        chosen: isChosen ? put(state.chosen, channel, requestId) : state.chosen,
      };
    }
    case "removed":
      return { ...state, messages: put(state.messages, threadKey(change), undefined) };
    case "ephemeral": {
      const { message } = change;
      const { ephemeralMessages } = state;
      return { ...state, ephemeralMessages: put(ephemeralMessages, threadKey(message), message) };
    }
    case "status": {
      const key = threadKey({ channel: change.channel, ts: change.threadTs });
      return { ...state, statuses: put(state.statuses, key, change.status || undefined) };
    }
    case "prompts":
      return { ...state, prompts: put(state.prompts, change.channel, change.prompts) };
    case "modal":
      return { ...state, modals: put(state.modals, change.user, change.modal) };
    case "step": {
      const { requestId, step } = change;
      const steps = [...(state.steps.get(requestId) ?? []), step];
      return { ...state, steps: put(state.steps, requestId, steps) };
    }
  }
}

/** A copy with the value. Without the key if the value is undefined. */
function put<T>(map: ById<T>, key: string, value: T | undefined): ById<T> {
  const copy = new Map(map);
  if (value === undefined) copy.delete(key);
  else copy.set(key, value);
  return copy;
}
