/** The configurations of docs/how-to/move.md for agents in managed runtimes, each against a double of its cloud. */
import { afterEach, describe, expect, it } from "@jest/globals";
import { createAuthorizer } from "@sekisho/config/authorizers.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import type { Authorizer } from "@sekisho/runtime/auth/authorizer.ts";
import { createBearerAuthorizer } from "@sekisho/runtime/auth/token-authorizer.ts";
import { blocksIn, sectionOf, textOf } from "../docs/pages.ts";
import { startAwsSts } from "../doubles/issuers/aws-sts.ts";
import { startGoogle } from "../doubles/issuers/google.ts";
import { startEntra } from "../doubles/issuers/oauth.ts";
import {
  createAgentEngine,
  createFoundryAgent,
  createGeminiAgent,
} from "../doubles/managed-agents.ts";
import { closeAfterTest, serve } from "../doubles/serving.ts";
import { clientTo, sessionId } from "../verification/transport/a2a/sample.ts";
import { credentials } from "../verification/transport/agentcore/sample.ts";

const region = "eu-central-1";
const page = textOf("docs/how-to/move.md");

afterEach(() => {
  delete process.env.AWS_ENDPOINT_URL_STS;
});

/** The destination that a section shows, parsed as `sekisho` does. */
function destinationOf(heading: string) {
  const [example = ""] = blocksIn(sectionOf(page, heading), "json");
  const { destinations } = parseConfig({ json: JSON.parse(example) });
  const [destination] = Object.values(destinations);
  if (destination?.transport !== "a2a" || destination.card === undefined)
    throw new Error(`${heading} shows no A2A destination`);
  return { ...destination, card: destination.card };
}

type Destination = ReturnType<typeof destinationOf>;

async function startSts() {
  const sts = closeAfterTest(await startAwsSts({ credentials, region }));
  process.env.AWS_ENDPOINT_URL_STS = sts.url.href;
  return (token: string) => sts.tokens.issued.includes(token);
}

function authorizerOf({ authorizer, card }: Destination, issuers: object): Authorizer {
  return createAuthorizer({
    ...{ authorizer, url: card, region, issuers },
    readSecret: () => Promise.reject(new Error("no secret is stored")),
    credentials: async () => credentials,
  });
}

/** A client as the destination describes it, but at the address of the double. */
function clientOf(destination: Destination, origin: string, authorizer: Authorizer) {
  const at = (address: string) => {
    const { pathname, search } = new URL(address);
    return `${origin}${pathname}${search}`;
  };
  const { card, url, version } = destination;
  return clientTo(at(card), {
    url: url && at(url),
    version: version === "highest" ? undefined : version,
    authorizer,
  });
}

/** The path of the interface, which is where its card is without the last parts. */
const baseOf = ({ card }: Destination, cardPath: string) =>
  new URL(card).pathname.replace(cardPath, "");

const hello = { channel: "C1", text: "Good morning" };

async function google(heading: string) {
  const destination = destinationOf(heading);
  const { authorizer } = destination;
  if (authorizer.type !== "google") throw new Error("another authorizer");
  const { workloadIdentityProvider: provider, serviceAccount: account } = authorizer;
  const issuer = closeAfterTest(
    await startGoogle({ isSubject: await startSts(), provider, account }),
  );
  const issuers = { google: issuer.url };
  const isToken = (token: string) =>
    issuer.accessTokens.includes(token) && token.includes("/auth/cloud-platform");
  return { destination, issuers, isToken };
}

describe("an agent on Vertex AI Agent Engine", () => {
  async function setUp() {
    const { destination, issuers, isToken } = await google("### Vertex AI Agent Engine");
    const { url } = await serve(
      createAgentEngine({ base: baseOf(destination, "/v1/card"), isToken }),
    );
    return { destination, issuers, url };
  }

  it("answers a task of the documented destination, and cancels one", async () => {
    const { destination, issuers, url } = await setUp();
    const { call, transport } = clientOf(destination, url, authorizerOf(destination, issuers));
    expect(
      await transport.describe?.({ sessionId, signal: AbortSignal.timeout(5000) }),
    ).toMatchObject({
      ...{ name: "an agent", version: "0.3" },
    });
    expect(await call("execute_task", hello)).toMatchObject({
      ...{ status: "accepted", task_id: "task-1" },
    });
    expect(await call("get_task", { task_id: "task-1" })).toMatchObject({
      response_text: "You said: Good morning",
      artifacts: [{ data: { words: 2 } }],
    });
    expect(await call("cancel_task", { task_id: "task-1" })).toMatchObject({ status: "canceled" });
    await expect(call("get_task", { task_id: "task-9" })).rejects.toMatchObject({
      reason: "task_not_found",
    });
  });

  it("refuses an ID token", async () => {
    const { destination, issuers, url } = await setUp();
    const authorizer = { ...destination.authorizer, scope: undefined };
    const withIdToken = authorizerOf({ ...destination, authorizer } as Destination, issuers);
    await expect(
      clientOf(destination, url, withIdToken).call("execute_task", hello),
    ).rejects.toMatchObject({ ...{ reason: "unauthenticated", certainty: "undelivered" } });
  });
});

describe("an agent of Gemini Enterprise", () => {
  it("answers a task of the documented destination, whatever address its card names", async () => {
    const { destination, issuers, isToken } = await google("### Gemini Enterprise");
    const base = baseOf(destination, "/v1/card");
    const { url } = await serve(createGeminiAgent({ base, isToken }));
    const authorizer = authorizerOf(destination, issuers);
    const { call } = clientOf(destination, url, authorizer);
    expect(await call("execute_task", hello)).toMatchObject({
      response_text: "You said: Good morning",
    });
    await expect(
      clientOf({ ...destination, url: undefined }, url, authorizer).call("execute_task", hello),
    ).rejects.toMatchObject({ ...{ reason: "invalid_response", certainty: "undelivered" } });
  });
});

describe("an agent of Microsoft Foundry", () => {
  async function setUp() {
    const destination = destinationOf("### Microsoft Foundry");
    const { authorizer } = destination;
    if (authorizer.type !== "azure") throw new Error("another authorizer");
    const { tenantId: tenant, clientId: client } = authorizer;
    const scope = "https://ai.azure.com/.default";
    const entra = closeAfterTest(
      await startEntra({ isAssertion: await startSts(), tenant, client, scope }),
    );
    const isToken = (token: string) => entra.issued.includes(token);
    const base = baseOf(destination, "/agentCard/v1.0");
    const { url } = await serve(createFoundryAgent({ base, isToken }));
    return { destination, issuers: { microsoft: entra.url }, url };
  }

  it("answers a task of the documented destination in 1.0", async () => {
    const { destination, issuers, url } = await setUp();
    const { call, transport } = clientOf(destination, url, authorizerOf(destination, issuers));
    expect(await call("execute_task", hello)).toMatchObject({ response_text: "Good morning" });
    expect(
      await transport.describe?.({ sessionId, signal: AbortSignal.timeout(5000) }),
    ).toMatchObject({
      version: "1.0",
    });
  });

  it("refuses another token, for its card too", async () => {
    const { destination, url } = await setUp();
    const other = createBearerAuthorizer({ readToken: async () => "another" });
    await expect(
      clientOf(destination, url, other).call("execute_task", hello),
    ).rejects.toMatchObject({ ...{ reason: "unauthenticated", certainty: "undelivered" } });
  });
});
