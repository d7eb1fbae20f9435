import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import { createArtifactFetch } from "../../../lambdas/verification/files/artifact-fetch.ts";
import { startWebServer, type WebServer } from "../../doubles/web-server.ts";
import { sampleTask } from "../task/sample.ts";

let agent: WebServer;

beforeEach(async () => {
  agent = await startWebServer({ handle: async () => new Response("a file") });
});

afterEach(() => agent.close());

const config = parseConfig({
  json: {
    destinations: {
      process: { transport: "in-process" },
      own: { transport: "https" },
      here: { transport: "https", url: "http://127.0.0.1:9999/" },
      far: {
        transport: "https",
        url: "https://agent.example/",
        authorizer: { type: "bearer", token: { env: "TOKEN" } },
      },
    },
    routes: [{ destination: "process" }],
  },
});

function fetchFor(destination: string | undefined, { ownZoneIsHere = false } = {}) {
  const publicFetch = createArtifactFetch({ ...config, ownZoneIsHere })(
    sampleTask(destination === undefined ? {} : { destination }),
  );
  const { signal } = new AbortController();
  return publicFetch({ url: agent.url, maxBytes: 100, timeoutMs: 2000, signal });
}

describe("an artifact at an address of this machine", () => {
  it.each(["process", "here"])("is fetched for an agent on this machine (%s)", async (destination) => {
    expect(Buffer.from(await fetchFor(destination)).toString()).toBe("a file");
  });

  it("is fetched for the own Execution zone where that is on this machine", async () => {
    expect(Buffer.from(await fetchFor("own", { ownZoneIsHere: true })).toString()).toBe("a file");
    await expect(fetchFor("own")).rejects.toMatchObject({ reason: "permission_denied" });
    await expect(fetchFor("far", { ownZoneIsHere: true })).rejects.toMatchObject({ reason: "permission_denied" });
  });

  it.each(["far", "unknown", "constructor", undefined])(
    "is not fetched for any other agent (%s)",
    async (destination) => {
      await expect(fetchFor(destination)).rejects.toMatchObject({ reason: "permission_denied" });
    },
  );
});
