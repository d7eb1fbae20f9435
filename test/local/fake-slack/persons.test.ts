/** What the fake Slack tells an app of posts of people: what the person has open. */
import { expect, it } from "@jest/globals";
import { startFakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { createCachedSecret } from "@sekisho/runtime/async/cached-secret.ts";
import { createIngress } from "@sekisho/verification/ingress/ingress.ts";
import { queueMessageSchema } from "@sekisho/verification/task/messages.ts";
import { closeAfterTest, serve } from "../../doubles/serving.ts";

const signingSecret = "a-signing-secret";

/** A fake Slack whose events reach an ingress. */
async function open() {
  const queued: ReturnType<typeof queueMessageSchema.parse>[] = [];
  const ingress = createIngress({
    signingSecret: createCachedSecret({ readSecret: async () => signingSecret }),
    queue: {
      send: async ({ body }) => void queued.push(queueMessageSchema.parse(JSON.parse(body))),
    },
  });
  const { url, received: requests } = await serve(async ({ request, body }) => {
    const { status } = await ingress({ headers: [...request.headers], body });
    return new Response("", { status });
  });
  const fakeSlack = closeAfterTest(await startFakeSlack({ signingSecret, botToken: "xoxb-test" }));
  const events = () => requests.map(({ body }) => JSON.parse(Buffer.from(body).toString()).event);
  const messages = () => queued.flatMap((each) => ("message" in each ? [each.message] : []));
  return { fakeSlack, eventsUrl: url, events, messages };
}

it("reports what a person has open in a direct message but not in a channel", async () => {
  const { fakeSlack, eventsUrl, events, messages } = await open();
  const channel = workspace.directMessages.id;
  const openItems = [{ channel: "C2", ts: "1762750000.000100" }, { channel: "C1" }];
  const post = { eventsUrl, text: "What is this?", open: openItems };
  for (const request of [{ ...post, channel }, { ...post, channel, open: [] }, post])
    await fakeSlack.ask(request).delivered;
  expect(messages().map((message) => message.open)).toEqual([
    [
      { type: "message", id: "1762750000.000100", channel: "C2" },
      { type: "channel", id: "C1" },
    ],
    undefined,
    undefined,
  ]);
  expect(events().map(({ app_context }) => app_context)).toMatchObject([{}, {}, undefined]);
});
