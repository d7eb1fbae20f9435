/** The stories: what people do, and what the agent makes of it. */

type Written = {
  afterMs: number;
  text: string;
  /** It answers the message with that number. */
  inThreadOf?: number;
  /** It does not mention the bot. */
  isUnaddressed?: boolean;
  /** It is a slash command. */
  isCommand?: boolean;
  /** Somebody else than the asker of the story writes it. */
  by?: "stranger";
  /** It comes with a file. */
  hasFile?: boolean;
  /** Slack tells of it without the file first, and of the file so long after that. */
  fileAfterMs?: number;
  /** So long after the beginning it gets another text, or is deleted. */
  change?: { afterMs: number; text?: string };
};

/**
 * Somebody presses a button so long after the beginning, or when it is there: of the first question, of the votes on the first answer, or
 * the one that tries the first message again.
 */
export type ClickedButton = { afterMs: number; by?: "asker" | "stranger" | "outsider" } & (
  | { option: number }
  | { vote: "up" | "down" }
  | { retries: true }
);

/** Somebody fills in the form of the first question, so long after the beginning, or when it is there. */
type FilledForm = { afterMs: number; choice: number };

/** Somebody asks about the message with that number by the shortcut. */
type ChosenShortcut = { afterMs: number; about: number; instruction: string };

export type Story = {
  name: string;
  /** The time that the agent works. */
  agentMs: number;
  /** The time that the host itself waits for the result. */
  syncBudgetMs: number;
  /** The gap between polls that the host advises. */
  pollAfterMs: number;
  isAllowed: boolean;
  /** So many tasks a person may have in a day; what is beyond that becomes no task. */
  quota?: number;
  /** The peer knows nothing of deduplication, and is declared so: what may have arrived is not sent again. */
  isForeign: boolean;
  /** The end of a task is pushed. */
  isPushed: boolean;
  /** The thread's session ends before a task may: each task needs one of its own. */
  isSessionOld?: boolean;
  /** A channel of Slack Connect with the app in both workspaces: people mention the bot user that Slack's events do not list. */
  isShared?: boolean;
  /** The destinations are told who asked, each with an audience of its own. */
  isTold?: true;
  /** Everyone who may ask may also answer. */
  isForAnyone?: boolean;
  /** The route has a second destination, an Execution zone of its own; and what becomes of the first one. */
  first?: "away" | "there";
  /** Messages that begin with `spare:` go to a second destination, an Execution zone of its own. */
  hasWord?: true;
  /** So long after the beginning, the configuration moves the route to the second destination, an Execution zone of its own. */
  routeMovesAfterMs?: number;
  /** Slack tells nothing of people, groups and channels: a scope is missing, it limits the calls, and it is slow. */
  hasNoNames?: true;
  messages: readonly Written[];
  buttonClicks: readonly ClickedButton[];
  /** So long after the beginning the asker opens the App Home, and cancels whatever is under way there. */
  cancelsAtHomeAfterMs?: number;
  /** So long after the beginning, or when there is a stream, a stranger presses Slack's own stop button. */
  stopsStreamAfterMs?: number;
  forms?: readonly FilledForm[];
  shortcuts?: readonly ChosenShortcut[];
  /** The time until a question expires. */
  questionMs: number;
  /**
   * The agent's behaviour beside answering. `writesMs`: it writes its answer for so long, after its work. `says`: its host answers with
   * that text of `hostileAnswers` instead.
   */
  agent: {
    asks?: boolean | "fields";
    tells?: boolean;
    writesMs?: number;
    makesFiles?: boolean;
    failsFirst?: boolean;
    says?: string;
  };
};

/** Answers of a host of another party, each of which must end in one visible answer: the text, and an artifact as JSON. */
export const hostileAnswers: Readonly<Record<string, { text: string; artifact?: string }>> = {
  halfpair: { text: "All done \u{1F600}".slice(0, -1) },
  invisible: { text: "\u202e" },
  definition: { text: "[a]: https://example.com/" },
  fences: { text: "```\n```\n".repeat(1500) },
  deep: { text: "Here it is.", artifact: nested(2500) },
  deeper: { text: "Here it is.", artifact: nested(9000) },
};

function nested(depth: number): string {
  return `{"name":"data","data":${"[".repeat(depth)}${"]".repeat(depth)}}`;
}

const sync: Story = {
  name: "sync",
  agentMs: 300,
  syncBudgetMs: 20_000,
  pollAfterMs: 1000,
  isAllowed: true,
  isForeign: false,
  isPushed: false,
  messages: [{ afterMs: 0, text: "What is a sekisho?" }],
  buttonClicks: [],
  questionMs: 8 * 3600_000,
  agent: {},
};

/** More than a minute: the answer is a new message, because an edit notifies nobody. Few polls keep all pairs of faults searchable. */
const accepted: Story = {
  ...sync,
  name: "accepted",
  agentMs: 61_000,
  syncBudgetMs: 300,
  pollAfterMs: 30_000,
};

function canceledAt(afterMs: number): Story["messages"] {
  return [...sync.messages, { afterMs, text: "cancel", inThreadOf: 0, isUnaddressed: true }];
}

export const stories: readonly Story[] = [
  sync,
  accepted,
  /** Somebody who may not ask asks again and again. */
  {
    ...sync,
    name: "refused",
    isAllowed: false,
    messages: [
      ...sync.messages,
      { afterMs: 100, text: "And who kept it?" },
      { afterMs: 60_000, text: "Until when?" },
    ],
  },
  /** Somebody asks for more than fits, also later and in the thread of what fitted. */
  {
    ...sync,
    name: "limited",
    quota: 1,
    messages: [
      ...sync.messages,
      { afterMs: 100, text: "And who kept it?" },
      { afterMs: 60_000, text: "Until when?" },
      { afterMs: 90_000, text: "And why?" },
    ],
  },
  { ...sync, name: "foreign", isForeign: true },
  /** Nobody is there to take it: it goes to the second. */
  { ...sync, name: "moved", first: "away" },
  /** Whatever may have arrived at the first is never sent to the second. */
  { ...sync, name: "spared", first: "there" },
  /** Two minutes and many polls. */
  { ...accepted, name: "long", agentMs: 120_000, pollAfterMs: 1000 },
  { ...accepted, name: "pushed", agentMs: 120_000, isPushed: true },
  /** On one machine the wish comes while the host holds a poll. */
  {
    ...accepted,
    name: "canceled",
    agentMs: 120_000,
    pollAfterMs: 5000,
    isPushed: true,
    messages: canceledAt(40_000),
  },
  /** The asker cancels on the App Home. The agent works for so long that a repeated press is still in time. */
  { ...accepted, name: "home", agentMs: 600_000, cancelsAtHomeAfterMs: 40_000 },
  /** The wish to cancel comes at the moment when the agent ends. */
  { ...accepted, name: "raced", agentMs: 20_000, pollAfterMs: 5000, messages: canceledAt(19_700) },
  {
    ...accepted,
    name: "thread",
    agentMs: 15_000,
    pollAfterMs: 5000,
    messages: [
      { afterMs: 0, text: "What is a sekisho?" },
      { afterMs: 4000, text: "And who kept it?", inThreadOf: 0 },
      { afterMs: 5000, text: "Until when?", inThreadOf: 0 },
    ],
  },
  /** The second message is edited, or deleted, at the moment when its turn comes. */
  ...[{ name: "edited", text: "Who kept the gate?" }, { name: "deleted" }].map(
    ({ name, ...change }): Story => ({
      ...accepted,
      name,
      agentMs: 15_000,
      pollAfterMs: 5000,
      messages: [
        ...sync.messages,
        {
          afterMs: 4000,
          text: "And who kept it?",
          inThreadOf: 0,
          change: { afterMs: 15_690, ...change },
        },
      ],
    }),
  ),
  /** The second task is refused by the session of the thread as well. */
  {
    ...accepted,
    name: "aged",
    agentMs: 15_000,
    pollAfterMs: 5000,
    isSessionOld: true,
    messages: [...sync.messages, { afterMs: 4000, text: "And who kept it?", inThreadOf: 0 }],
  },
  /** The agent asks, and somebody presses a button; a stranger before, and a second time when it is too late. */
  {
    ...sync,
    name: "asked",
    agent: { asks: true },
    buttonClicks: [
      { afterMs: 20_000, option: 1, by: "stranger" },
      { afterMs: 25_000, option: 0 },
      { afterMs: 25_100, option: 1 },
    ],
  },
  /** The channel is shared with another workspace after the question. Its people click first, and change nothing. */
  {
    ...sync,
    name: "bordered",
    agent: { asks: true },
    isForAnyone: true,
    buttonClicks: [
      { afterMs: 20_000, option: 1, by: "outsider" },
      { afterMs: 25_000, option: 0 },
      { afterMs: 60_000, vote: "down", by: "outsider" },
    ],
  },
  /** It is answered in words, in the thread. */
  {
    ...sync,
    name: "replied",
    agent: { asks: true },
    messages: [
      ...sync.messages,
      { afterMs: 40_000, text: "Rather not, thank you", inThreadOf: 0, isUnaddressed: true },
    ],
  },
  /** Nobody answers. */
  { ...sync, name: "unanswered", agent: { asks: true }, questionMs: 90_000 },
  /** It tells how far it is, and what it has written so far; both are pushed, too. */
  {
    ...accepted,
    name: "told",
    agentMs: 20_000,
    pollAfterMs: 2000,
    isPushed: true,
    agent: { tells: true },
  },
  /** It writes its answer, a token every 50 ms: at once, and after it has thought for longer than the host waits. */
  {
    ...sync,
    name: "written",
    agentMs: 100,
    syncBudgetMs: 2000,
    pollAfterMs: 500,
    agent: { writesMs: 2600 },
  },
  {
    ...sync,
    name: "thought",
    agentMs: 19_500,
    syncBudgetMs: 2000,
    pollAfterMs: 500,
    agent: { writesMs: 1500 },
  },
  /** Slack stops the stream while it is being written: the task ends as canceled, and what was written stays. */
  {
    ...sync,
    name: "stopped",
    agentMs: 100,
    syncBudgetMs: 500,
    pollAfterMs: 1000,
    agent: { writesMs: 8000 },
    stopsStreamAfterMs: 4000,
  },
  /** Files come with the message, and with the answer. */
  {
    ...sync,
    name: "files",
    agent: { makesFiles: true },
    messages: [{ afterMs: 0, text: "Read this file", hasFile: true }],
  },
  /** Slack tells of the same messages twice: without the file, and with it. Of the second one the file comes when its agent is at work. */
  {
    ...sync,
    name: "late",
    agentMs: 5000,
    messages: [
      { afterMs: 0, text: "Read this file", hasFile: true, fileAfterMs: 100 },
      { afterMs: 20_000, text: "And this one", hasFile: true, fileAfterMs: 3000 },
    ],
  },
  /** A follow-up without a mention, and what people say to each other elsewhere. */
  {
    ...sync,
    name: "followed",
    messages: [
      ...sync.messages,
      { afterMs: 30_000, text: "And who kept it?", inThreadOf: 0, isUnaddressed: true },
      { afterMs: 31_000, text: "Good morning", isUnaddressed: true },
    ],
  },
  /** A thread stays with its agent until somebody names another one, which gets none of the first one's answers. */
  {
    ...sync,
    name: "rerouted",
    hasWord: true,
    messages: [
      ...sync.messages,
      { afterMs: 30_000, text: "spare: And who kept it?", inThreadOf: 0 },
      { afterMs: 60_000, text: "Until when?", inThreadOf: 0, isUnaddressed: true },
    ],
  },
  /** The route moves while a task of its thread runs. The thread stays with its agent, and a new one begins at the new place. */
  {
    ...accepted,
    name: "relocated",
    agentMs: 15_000,
    pollAfterMs: 5000,
    routeMovesAfterMs: 10_000,
    messages: [
      ...sync.messages,
      { afterMs: 12_000, text: "And who kept it?", inThreadOf: 0 },
      { afterMs: 100_000, text: "Until when?" },
    ],
  },
  /** Slack refuses every lookup of a name, each kind in its own way: ids stay, and nothing else changes. */
  {
    ...sync,
    name: "nameless",
    hasNoNames: true,
    messages: [
      { afterMs: 0, text: "Ask @U0USER0002 and @S0GROUP001 in #C0CHAN0002" },
      { afterMs: 30_000, text: "And again @U0USER0002 and @S0GROUP001 in #C0CHAN0002" },
      { afterMs: 120_000, text: "Once more @U0USER0003 and @S0GROUP001 in #C0CHAN0002" },
    ],
  },
  ...Object.keys(hostileAnswers).map((name) => ({ ...sync, name, agent: { says: name } })),
  /** Both mentions name the bot user of the other workspace. */
  {
    ...sync,
    name: "connected",
    isShared: true,
    messages: [...sync.messages, { afterMs: 30_000, text: "And who kept it?", inThreadOf: 0 }],
  },
  /** The agent asks with fields. The form is filled in twice, in two windows. */
  {
    ...sync,
    name: "filled",
    agent: { asks: "fields" },
    forms: [
      { afterMs: 25_000, choice: 0 },
      { afterMs: 25_100, choice: 1 },
    ],
  },
  /** Somebody asks about what people say to each other, twice. */
  {
    ...accepted,
    name: "chosen",
    agentMs: 15_000,
    pollAfterMs: 5000,
    messages: [{ afterMs: 0, text: "The gate is closed", isUnaddressed: true }],
    shortcuts: [
      { afterMs: 10_000, about: 0, instruction: "Until when?" },
      { afterMs: 14_000, about: 0, instruction: "Since when?" },
    ],
  },
  {
    ...sync,
    name: "commanded",
    messages: [{ afterMs: 0, text: "What is a sekisho?", isCommand: true }],
  },
  /** People vote on an answer, twice at once, and one of them changes the vote. */
  {
    ...accepted,
    name: "voted",
    agentMs: 5000,
    pollAfterMs: 2000,
    buttonClicks: [
      { afterMs: 20_000, vote: "up" },
      { afterMs: 20_100, vote: "up" },
      { afterMs: 20_200, vote: "down", by: "stranger" },
      { afterMs: 3 * 3600_000, vote: "down" },
    ],
  },
  /** The agent fails, and the message is tried again: by a stranger, who may not, then twice by the asker. */
  {
    ...accepted,
    name: "retried",
    agentMs: 5000,
    pollAfterMs: 2000,
    agent: { failsFirst: true },
    buttonClicks: [
      { afterMs: 15_000, retries: true, by: "stranger" },
      { afterMs: 20_000, retries: true },
      { afterMs: 20_100, retries: true },
    ],
  },
  /** Two people share a thread, and so a session. The destination is told who asked, as in the stories below. */
  {
    ...accepted,
    name: "named",
    isTold: true,
    agentMs: 15_000,
    pollAfterMs: 5000,
    messages: [
      ...sync.messages,
      { afterMs: 4000, text: "And who kept it?", inThreadOf: 0, by: "stranger" },
      { afterMs: 5000, text: "Until when?", inThreadOf: 0 },
    ],
  },
  /** Somebody else answers the question, and the agent goes on for the asker. */
  {
    ...accepted,
    name: "answered",
    isTold: true,
    agentMs: 15_000,
    pollAfterMs: 5000,
    isForAnyone: true,
    agent: { asks: true },
    buttonClicks: [
      { afterMs: 30_000, option: 1, by: "stranger" },
      { afterMs: 60_000, option: 0 },
    ],
  },
  /** The first destination is away, and the second has another audience. */
  { ...accepted, name: "handed", isTold: true, agentMs: 15_000, pollAfterMs: 5000, first: "away" },
  /** One person asks at two destinations at a time. */
  {
    ...accepted,
    name: "divided",
    isTold: true,
    agentMs: 15_000,
    pollAfterMs: 5000,
    hasWord: true,
    messages: [...sync.messages, { afterMs: 2000, text: "spare: And who kept it?" }],
  },
  /** A failed message of one person is tried again in the thread in which another one asks. */
  {
    ...accepted,
    name: "renewed",
    isTold: true,
    agentMs: 5000,
    pollAfterMs: 2000,
    agent: { failsFirst: true },
    messages: [
      ...sync.messages,
      { afterMs: 12_000, text: "And who kept it?", inThreadOf: 0, by: "stranger" },
    ],
    buttonClicks: [
      { afterMs: 13_000, retries: true, by: "stranger" },
      { afterMs: 14_000, retries: true },
    ],
  },
  /** The message is edited while its retry waits behind another task of the thread. */
  {
    ...sync,
    name: "reworded",
    agentMs: 10_000,
    agent: { failsFirst: true },
    messages: [
      {
        afterMs: 0,
        text: "What is a sekisho?",
        change: { afterMs: 19_000, text: "What was a barrier?" },
      },
      { afterMs: 12_000, text: "And who kept it?", inThreadOf: 0 },
    ],
    buttonClicks: [{ afterMs: 13_000, retries: true }],
  },
];
