/** The configuration of the simulated zones, and the secrets that must never leave their place. */
import { parseConfig } from "@sekisho/config/load.ts";
import type { Config } from "@sekisho/config/schema.ts";
import type { Story } from "./stories.ts";

/** Every secret has it, and nothing else does: one look finds them all. */
export const secretMark = "~kept~";

export const secrets = {
  signingSecret: `signing-${secretMark}8f742231b10e8888`,
  botToken: `xoxb-${secretMark}4c1f0a9b7d`,
  bearer: `bearer-${secretMark}77aa31c9e2`,
};

export const workspace = {
  team: "T0TEAM0001",
  app: "A0APP00001",
  bot: "U0BOT00001",
  /** The app's bot user in the other workspace of a shared channel. */
  otherBot: "U0BOT00002",
  channel: "C0CHAN0001",
  user: "U0USER0001",
  stranger: "U0USER0002",
  /** Somebody of another workspace, with which the channel is shared since the bot was asked. */
  outsider: "U0OUTSIDE1",
};

/** The workspace that Slack names for a person. */
export function teamOf(user: string): string {
  return user === workspace.outsider ? "T0OTHER001" : workspace.team;
}

/** The window of a quota; only an outage is as long. */
export const quotaMs = 24 * 3600_000;

const parsedConfig = new Map<string, Config>();

/**
 * The product's own defaults, but for what the story is about; and tasks may take longer than any outage. As in a stage, functions do not
 * hold polls.
 */
export function configOf(
  story: Story,
  { isOneProcess, hasMoved = false }: { isOneProcess: boolean; hasMoved?: boolean },
): Config {
  const key = `${story.name} ${isOneProcess} ${hasMoved}`;
  const cachedValue = parsedConfig.get(key);
  if (cachedValue !== undefined) return cachedValue;
  const questions = {
    expireAfterMs: story.questionMs,
    answerBy: story.isForAnyone ? "anyone" : "asker",
  };
  const deadlineMs = 8 * 3600_000;
  const destination = {
    transport: "in-process",
    deadlineMs,
    forwardBotToken: true,
    idempotent: !story.isForeign,
    questions,
    ...(isOneProcess ? {} : { longPollMs: 0 }),
  };
  const tellAs = (audience: string) => (story.isTold ? { asker: { audience } } : {});
  const config = parseConfig({
    json: {
      ...(story.isTold && { asker: { issuer: "https://asker.example" } }),
      // Sessions are in; a status ends by itself, and reactions say nothing that a session does not.
      slack: {
        locale: "en",
        command: { name: "/sekisho" },
        shortcut: {},
        assistant: {},
        status: false,
        ...(story.hasNoNames && { context: { groups: true, channel: true } }),
      },
      allowlist: story.isAllowed
        ? [{ team: workspace.team, ...(story.isShared && { external: "people" }) }]
        : [],
      destinations: {
        agents: { ...destination, ...tellAs("https://agents.example") },
        spare: { ...destination, ...tellAs("https://spare.example") },
      },
      routes: [
        ...(story.hasWord ? [{ word: "spare", keepsWord: true, destination: "spare" }] : []),
        {
          destination:
            story.first === undefined ? (hasMoved ? "spare" : "agents") : ["agents", "spare"],
        },
      ],
      execution: { syncBudgetMs: story.syncBudgetMs },
      limits:
        story.quota === undefined
          ? {}
          : { perUser: { tasks: story.quota, perSeconds: quotaMs / 1000 } },
    },
  });
  parsedConfig.set(key, config);
  return config;
}
