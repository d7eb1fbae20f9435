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

function fetchFor(destination: string | undefined) {
  const publicFetch = createArtifactFetch(config)(sampleTask(destination === undefined ? {} : { destination }));
  const { signal } = new AbortController();
  return publicFetch({ url: agent.url, maxBytes: 100, timeoutMs: 2000, signal });
}

describe("an artifact at an address of this machine", () => {
  it.each(["process", "here"])("is fetched for an agent on this machine (%s)", async (destination) => {
    expect(Buffer.from(await fetchFor(destination)).toString()).toBe("a file");
  });

  it.each(["far", "unknown", undefined])("is not fetched for any other agent (%s)", async (destination) => {
    await expect(fetchFor(destination)).rejects.toMatchObject({ reason: "permission_denied" });
  });
});
