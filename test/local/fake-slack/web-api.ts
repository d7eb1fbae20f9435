/** A fake Slack with a question in its first channel, and its Web API as an app calls it. */
import { type FakeSlack, startFakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";

export const botToken = "xoxb-of-the-workspace";
export const channel = workspace.channel.id;

type Answer = { ok: boolean; error?: string; [field: string]: unknown };

export type CalledSlack = {
  fakeSlack: FakeSlack;
  /** The `ts` of the question. */
  asked: string;
  call(method: string, args?: Record<string, unknown>, token?: string): Promise<Answer>;
  /** Posts in the question's thread. */
  post(args?: Record<string, unknown>): Promise<Answer & { ts: string }>;
};

export async function startCalledSlack(
  options: Partial<Parameters<typeof startFakeSlack>[0]> = {},
) {
  const fakeSlack = await startFakeSlack({ signingSecret: "s", botToken, ...options });
  // The event goes nowhere.
  const { ts: asked } = fakeSlack.ask({ eventsUrl: fakeSlack.apiUrl, text: "hello" }).message;
  const call: CalledSlack["call"] = (...request) => callMethod(fakeSlack, ...request);
  const slack: CalledSlack = {
    fakeSlack,
    asked,
    call,
    post: async (args) => {
      const answer = await call("chat.postMessage", {
        channel,
        thread_ts: asked,
        text: "hi",
        ...args,
      });
      return { ...answer, ts: String(answer.ts) };
    },
  };
  return slack;
}

export async function callMethod(
  { apiUrl }: { apiUrl: string },
  method: string,
  args: Record<string, unknown> = {},
  token = botToken,
): Promise<Answer> {
  const body = new URLSearchParams();
  for (const [name, value] of Object.entries(args)) {
    body.append(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  const headers = { authorization: `Bearer ${token}` };
  const response = await fetch(`${apiUrl}${method}`, { method: "POST", headers, body });
  return (await response.json()) as Answer;
}
