import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import { createArtifactFetch } from "../../../lambdas/verification/files/artifact-fetch.ts";
import { startWebServer, type WebServer } from "../../doubles/web-server.ts";
import { sampleCall, sampleTask } from "../task/sample.ts";

let agent: WebServer;
/** Another program on the same machine, such as a database's page. */
let neighbour: WebServer;
let neighbourAsked: number;

beforeEach(async () => {
  neighbourAsked = 0;
  agent = await startWebServer({ handle: async () => new Response("a file") });
  neighbour = await startWebServer({
    handle: async () => {
      neighbourAsked += 1;
      return new Response("a secret");
    },
  });
});

afterEach(() => Promise.all([agent.close(), neighbour.close()]));

const localDestinations = ["process", "own", "here"];

function fetchFor({
  destination,
  url,
  executionUrl,
}: {
  destination: string | undefined;
  url: string;
  executionUrl?: string;
}) {
  const { destinations } = parseConfig({
    json: {
      destinations: {
        process: { transport: "in-process" },
        own: { transport: "https" },
        here: { transport: "https", url: agent.url },
        far: {
          transport: "https",
          url: "https://agent.example/",
          authorizer: { type: "bearer", token: { env: "TOKEN" } },
        },
      },
      routes: [{ destination: "process" }],
    },
  });
  const task = sampleTask(destination === undefined ? {} : { call: sampleCall({ destination }) });
  const { signal } = new AbortController();
  const request = { url, maxBytes: 100, timeoutMs: 20_000, signal };
  return createArtifactFetch({ destinations, ...(executionUrl && { executionUrl }) })(task)(request);
}

describe("an artifact at an address of this machine", () => {
  it.each(localDestinations)("is fetched from the agent's own origin (%s)", async (destination) => {
    const bytes = await fetchFor({ destination, url: `${agent.url}/file`, executionUrl: agent.url });
    expect(Buffer.from(bytes).toString()).toBe("a file");
  });

  it.each(localDestinations)("is not fetched from another port (%s)", async (destination) => {
    const url = `${neighbour.url}/file`;
    const fetched = fetchFor({ destination, url, executionUrl: agent.url });
    await expect(fetched).rejects.toMatchObject({ reason: "permission_denied" });
    expect(neighbourAsked).toBe(0);
  });

  it("is not fetched from the own Execution zone where that is elsewhere", async () => {
    for (const destination of ["process", "own"]) {
      await expect(fetchFor({ destination, url: agent.url })).rejects.toMatchObject({ reason: "permission_denied" });
    }
  });

  it.each(["far", "unknown", "constructor", undefined])(
    "is not fetched for any other agent (%s)",
    async (destination) => {
      const fetched = fetchFor({ destination, url: agent.url, executionUrl: agent.url });
      await expect(fetched).rejects.toMatchObject({ reason: "permission_denied" });
    },
  );
});
