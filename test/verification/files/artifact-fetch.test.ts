import { beforeEach, describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { createArtifactFetch } from "@sekisho/verification/files/artifact-fetch.ts";
import { serve } from "../../doubles/serving.ts";
import { sampleCall, sampleTask } from "../task/sample.ts";

type Server = Awaited<ReturnType<typeof serve>>;
let agent: Server;
/** Another program on the same machine, such as a database's page. */
let neighbour: Server;

beforeEach(async () => {
  agent = await serve(() => new Response("a file"));
  neighbour = await serve(() => new Response("a secret"));
});

const localDestinations = ["process", "own", "here"];
type Given = { destination: string | undefined; url: string; executionUrl?: string };

function fetchFor({ destination, url, executionUrl }: Given) {
  const authorizer = { type: "bearer", token: { env: "TOKEN" } };
  const { destinations } = parseConfig({
    json: {
      destinations: {
        process: { transport: "in-process" },
        own: { transport: "https" },
        here: { transport: "https", url: agent.url },
        far: { transport: "https", url: "https://agent.example/", authorizer },
      },
      routes: [{ destination: "process" }],
    },
  });
  const task = sampleTask(destination === undefined ? {} : { call: sampleCall({ destination }) });
  const { signal } = new AbortController();
  const request = { url, maxBytes: 100, timeoutMs: 20_000, signal };
  return createArtifactFetch({ destinations, ...(executionUrl && { executionUrl }) })(task)(
    request,
  );
}

describe("an artifact at an address of this machine", () => {
  it.each(localDestinations)(
    "fetches an artifact from the origin of its local agent (%s)",
    async (destination) => {
      const bytes = await fetchFor({
        destination,
        url: `${agent.url}/file`,
        executionUrl: agent.url,
      });
      expect(Buffer.from(bytes).toString()).toBe("a file");
    },
  );

  it.each(localDestinations)(
    "refuses an artifact on another port of this machine (%s)",
    async (destination) => {
      const url = `${neighbour.url}/file`;
      const fetching = fetchFor({ destination, url, executionUrl: agent.url });
      await expect(fetching).rejects.toMatchObject({ reason: "permission_denied" });
      expect(neighbour.received).toEqual([]);
    },
  );

  it("refuses the address of the local Execution zone if the agent runs elsewhere", async () => {
    for (const destination of ["process", "own"]) {
      await expect(fetchFor({ destination, url: agent.url })).rejects.toMatchObject({
        reason: "permission_denied",
      });
    }
  });

  it.each(["far", "unknown", "constructor", undefined])(
    "refuses a local address for any other agent (%s)",
    async (destination) => {
      const fetching = fetchFor({ destination, url: agent.url, executionUrl: agent.url });
      await expect(fetching).rejects.toMatchObject({ reason: "permission_denied" });
    },
  );
});
