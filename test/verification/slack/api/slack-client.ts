/** The Slack client of each test, over a fake Slack of its own; what it called, logged and waited for. */
import { afterEach, beforeEach } from "@jest/globals";
import { type FakeSlack, startFakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { createBotTokens } from "@sekisho/verification/installations/installations.ts";
import { type SlackApi, SlackError } from "@sekisho/verification/slack/api/slack.ts";
import { createSlackApi } from "@sekisho/verification/slack/api/web-api.ts";
import { collectLog } from "../../../doubles/collect-log.ts";

export const botToken = "xoxb-fake-slack-token";
export const requestId = "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d";
const channel = workspace.channel.id;
export const appId = workspace.app;
export const text = "The answer that nobody may log";

type Options = Parameters<typeof createSlackApi>[0];

export type SlackClient = {
  readonly fakeSlack: FakeSlack;
  /** A person's message, in whose thread things are posted. */
  readonly asked: { ts: string };
  /** The methods that were called with the right token, in their order. */
  readonly calls: string[];
  readonly lines: string[];
  readonly waits: number[];
  /** What every call of the tests carries: installation, channel, request id, signal. */
  readonly common: {
    installation: { team: string };
    channel: string;
    requestId: string;
    signal: AbortSignal;
  };
  api(options?: Partial<Options>): SlackApi;
  post(slack?: SlackApi, part?: number): Promise<{ ts: string }>;
  /** The texts of the bot in the thread. */
  answers(): string[];
};

/** Called once in a test file; what it gives belongs to the test that runs. */
export function slackClient(
  options: Partial<Parameters<typeof startFakeSlack>[0]> = {},
): () => SlackClient {
  let client: SlackClient | undefined;
  beforeEach(async () => {
    client = await open(options);
  });
  afterEach(() => client?.fakeSlack.close());
  return () => {
    if (client === undefined) throw new Error("No test runs.");
    return client;
  };
}

async function open(options: Partial<Parameters<typeof startFakeSlack>[0]>): Promise<SlackClient> {
  const fakeSlack = await startFakeSlack({ signingSecret: "s", botToken, ...options });
  // The event goes nowhere: here only the thread is needed.
  const userMessage = fakeSlack.ask({
    eventsUrl: fakeSlack.apiUrl,
    text: "What is a sekisho?",
  }).message;
  const calls: string[] = [];
  fakeSlack.onCall(({ method }) => calls.push(method));
  const { log, lines } = collectLog({ level: "debug" });
  const waits: number[] = [];
  const installation = { team: workspace.team };
  const common = { installation, channel, requestId, signal: new AbortController().signal };
  const api = (changes: Partial<Options> = {}) =>
    createSlackApi({
      tokens: createBotTokens({ botToken: async () => botToken }),
      apiUrl: fakeSlack.apiUrl,
      log,
      sleep: async (ms) => void waits.push(ms),
      random: () => 0.5,
      ...changes,
    });
  return {
    fakeSlack,
    asked: userMessage,
    calls,
    lines,
    waits,
    common,
    api,
    post: (slack = api(), index = 0) =>
      slack.post({
        ...common,
        threadTs: userMessage.ts,
        content: { text },
        key: { requestId, kind: "answer", index },
      }),
    answers: () =>
      fakeSlack
        .thread({ channel, ts: userMessage.ts })
        .flatMap((message) => (message.user === workspace.botUser ? [message.text] : [])),
  };
}

export async function failure(call: Promise<unknown>): Promise<SlackError> {
  const error = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(error instanceof SlackError)) throw new Error("A SlackError was expected.");
  return error;
}
